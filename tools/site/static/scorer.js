// How the search of the site orders pages: a page for one job comes before lists of everything, and
// first of all the page for users of the package that is asked for.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([page, title, anchor, description, score]) =>
    score + (page === "how-to/from-others" ? 4 : page.startsWith("how-to/") ? 2 : 0),
};
