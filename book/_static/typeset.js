/* Tables take their final size when all their rows are there, equations when MathJax has drawn them.
   Until then the text waits, since a text that moves cannot be read; mha.css ends the waiting where
   MathJax does not. */
document.documentElement.classList.add("mha-typesetting");

/* An equation that is wider than the page is scrolled, by keyboard too. */
function reachWideEquations() {
  for (const equation of document.querySelectorAll('mjx-container[display="true"]')) {
    if (equation.scrollWidth > equation.clientWidth) equation.tabIndex = 0;
    else equation.removeAttribute("tabindex");
  }
}

document.addEventListener("DOMContentLoaded", () => {
  const show = () => {
    document.documentElement.classList.remove("mha-typesetting");
    reachWideEquations();
  };
  Promise.resolve(window.MathJax?.startup?.promise).then(show, show);
  addEventListener("resize", reachWideEquations);
});
