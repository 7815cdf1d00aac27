/* Equations take their final size when MathJax has drawn them. Until then the text waits, since a
   text that moves cannot be read; mha.css ends the waiting where MathJax does not. */
document.documentElement.classList.add("mha-typesetting");
document.addEventListener("DOMContentLoaded", () => {
  const show = () => document.documentElement.classList.remove("mha-typesetting");
  Promise.resolve(window.MathJax?.startup?.promise).then(show, show);
});
