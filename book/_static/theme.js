/* The colours are known before the first paint, at a first visit too: the book's theme chooses them
   when all its scripts are loaded, and until then would draw text that then moves. */
{
  const { dataset } = document.documentElement;
  if (!["light", "dark"].includes(dataset.mode))
    dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
