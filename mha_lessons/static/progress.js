/* What the reader has read and passed, kept in this browser and nowhere else.
 *
 * <mha-progress page="02_multi_head_split" quizzes="T4 T15"> stands at the end of a page, one without
 * `page` is the table on the first page; book/_ext/mha_book/progress.py writes both. Quizzes use
 * `mhaProgress`.
 */
(function (root) {
  "use strict";
  const { element, change } = root.mhaLive;

  // Other books may share this store: on one host, or all that are opened from disk.
  const KEY = "mha-lessons-progress";
  const LONGEST = 100_000; // characters of a progress file: a hundred times what the book fills
  const listeners = new Set();
  let state = { read: {}, passed: {} }, isKept = true;

  // ====================================================================================== store

  const isSet = (value) => value !== null && typeof value === "object"
    && !Array.isArray(value) && Object.values(value).every((x) => typeof x === "boolean");

  /** The progress that `text` holds, or an error that says what it should. */
  function parse(text) {
    let value = null;
    if (text.length > LONGEST)
      throw new Error(`A progress file has at most ${LONGEST} characters: got ${text.length}. `
        + "Choose a file that this page exported.");
    try { value = JSON.parse(text); } catch { /* no JSON: the rule below is broken */ }
    if (!isSet(value?.read) || !isSet(value?.passed)) {
      const start = text.trim().slice(0, 40);
      throw new Error("A progress file holds \u201cread\u201d and \u201cpassed\u201d: got "
        + `${start ? "\u201c" + start + "\u201d" : "an empty file"}. Choose a file that this page exported.`);
    }
    return { read: value.read, passed: value.passed };
  }

  /** Another tab may have written since. */
  function load() {
    try {
      const text = root.localStorage.getItem(KEY);
      state = text === null ? { read: {}, passed: {} } : parse(text);
    } catch (error) {
      if (error instanceof root.DOMException) isKept = false; // the browser lets nothing be stored
    }
  }

  function save(next) {
    state = next;
    try {
      root.localStorage.setItem(KEY, JSON.stringify(state));
    } catch {
      isKept = false;
    }
    listeners.forEach((f) => f());
  }

  function put(part, name, value) {
    load();
    save({ ...state, [part]: { ...state[part], [name]: value } });
  }

  const union = (a, b) => Object.fromEntries(
    Object.keys({ ...a, ...b }).map((name) => [name, Boolean(a[name] || b[name])]));

  function add(other) {
    load();
    save({ read: union(state.read, other.read), passed: union(state.passed, other.passed) });
  }

  root.mhaProgress = {
    pass: (quiz) => put("passed", quiz, true),
    hasPassed: (quiz) => state.passed[quiz] === true,
    subscribe(f) { listeners.add(f); f(); },
  };

  function refresh() {
    load();
    listeners.forEach((f) => f());
  }
  root.addEventListener("storage", (event) => { if ([KEY, null].includes(event.key)) refresh(); });
  // A page that the back button brings again slept meanwhile, and heard of nothing.
  root.addEventListener("pageshow", (event) => { if (event.persisted) refresh(); });

  // ======================================================================================= view

  const names = (node) => node.dataset.quizzes.split(" ");
  const passedOf = (quizzes) =>
    `${quizzes.filter(root.mhaProgress.hasPassed).length} of ${quizzes.length}`;

  /** At the end of a page: it was read when its end has come into view, unless the reader says no. */
  function mark(host) {
    const page = host.getAttribute("page"), box = host.querySelector("input");
    const shown = host.querySelector(".mha-count");
    box.addEventListener("change", () => put("read", page, box.checked));
    new IntersectionObserver(([entry], observer) => {
      if (!entry.isIntersecting) return;
      observer.disconnect();
      load();
      if (!(page in state.read)) put("read", page, true);
    }).observe(host);
    return () => {
      box.checked = state.read[page] === true;
      change(shown, { text: passedOf(names(host)) });
    };
  }

  function table(host) {
    const status = host.querySelector("[role=status]"), file = host.querySelector("input");
    const say = (text) => { status.textContent = text; };
    const actions = {
      save() {
        const text = encodeURIComponent(JSON.stringify(state, null, 2) + "\n");
        element("a", { href: "data:application/json," + text, download: KEY + ".json" }).click();
        say("Your progress is in the downloaded file.");
      },
      open: () => file.click(),
      erase() {
        if (!root.confirm("Forget what you have read and passed? This can't be undone.")) return;
        save({ read: {}, passed: {} });
        try { root.localStorage.removeItem(KEY); } catch { /* nothing is stored */ }
        say("Your progress is erased.");
      },
    };
    for (const button of host.querySelectorAll("button"))
      button.addEventListener("click", () => actions[button.name]());
    file.addEventListener("change", async () => {
      const [chosen] = file.files;
      if (!chosen) return;
      try {
        add(parse(await chosen.text()));
        say("Imported: what the file adds is now part of your progress.");
      } catch (error) {
        say(error.message);
      }
      file.value = ""; // so that the same file can be chosen again
    });
    return () => {
      for (const row of host.querySelectorAll("tr[data-page]")) {
        const [read, passed] = row.querySelectorAll("td");
        change(read, { text: state.read[row.dataset.page] ? "\u2713 read" : "not yet" });
        change(passed, { text: passedOf(names(row)) });
      }
      if (!isKept)
        change(host.querySelector(".mha-kept"), { text:
          "This browser lets the page store nothing, so your progress ends with this page." });
    };
  }

  load();
  root.customElements.define("mha-progress", class extends root.HTMLElement {
    connectedCallback() {
      if (!this.started) root.mhaProgress.subscribe(this.hasAttribute("page") ? mark(this) : table(this));
      this.started = true;
    }
  });
})(globalThis);
