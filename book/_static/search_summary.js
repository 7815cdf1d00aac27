/* The search page shows some lines of each page that it finds. From disk a browser lets no page
   read another, so there the titles must do. What a page folds away stays folded away. */
if (location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}
document.addEventListener("DOMContentLoaded", () => {
  const htmlToText = Search.htmlToText;
  Search.htmlToText = (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    page.querySelectorAll("details").forEach((part) => part.remove());
    return htmlToText(page.documentElement.outerHTML, anchor);
  };
});
