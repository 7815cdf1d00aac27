/* A question with choices: <mha-quiz name="head-width">, written by mha_lessons/quiz.py.
 *
 * What stands inside is a list whose entries unfold, and is enough without this script. The script
 * makes a form of it: choose, check, read why. Nothing is asked from the network. A right answer is
 * told to progress.js where the page has it.
 */
(function (root) {
  "use strict";
  const { element, change } = root.mhaLive;
  const progress = root.mhaProgress;

  function start(host) {
    const name = host.getAttribute("name");
    const status = element("p", { class: "mha-said", role: "status" });
    const passed = element("span", { class: "mha-passed" });
    const forget = () => { status.replaceChildren(); delete form.dataset.said; };

    const choices = [...host.querySelectorAll("li")].map((item) => {
      const input = element("input", { type: "radio", name: "choice", onchange: forget });
      const text = element("span", {}, ...item.querySelector("summary").childNodes);
      return {
        input, node: element("label", {}, input, text),
        explanation: [...item.querySelector("details > p").childNodes],
        isRight: item.hasAttribute("data-right"),
      };
    });

    function check(event) {
      event.preventDefault(); // nothing is sent
      const chosen = choices.find(({ input }) => input.checked);
      if (!chosen) {
        status.textContent = "Choose an answer first.";
        return;
      }
      form.dataset.said = chosen.isRight ? "right" : "wrong";
      status.replaceChildren(...chosen.explanation);
      if (chosen.isRight) progress?.pass(name);
      else status.append(" Try again: choose another answer.");
    }

    const form = element("form", { onsubmit: check },
      element("fieldset", {},
        element("legend", {}, ...host.querySelector("p").childNodes),
        ...choices.map(({ node }) => node)),
      element("div", { class: "mha-check-row" },
        element("button", { type: "submit" }, "Check"), passed),
      status);
    host.replaceChildren(element("div", { class: "mha-live" }, form));

    progress?.subscribe(() => change(passed, { text: progress.hasPassed(name) ? "\u2713 passed" : "" }));
  }

  root.customElements.define("mha-quiz", class extends root.HTMLElement {
    connectedCallback() {
      if (!this.started) start(this);
      this.started = true;
    }
  });
})(globalThis);
