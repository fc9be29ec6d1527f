"use strict";
// Shows the pairs that have the words, the number and the differences that were asked for.
{
  const field = (name) => document.getElementById(name);
  const pairs = Array.from(document.querySelectorAll("article.pair"), (element) => ({
    element,
    number: Number(element.dataset.number),
    isDiffering: element.dataset.differing === "yes",
    text: element.textContent.toLowerCase().replace(/\s+/g, " "),
  }));
  const bound = (name, usual) => (field(name).value === "" ? usual : Number(field(name).value));
  const choose = () => {
    const words = field("words").value.toLowerCase().trim().replace(/\s+/g, " ");
    const least = bound("least", -Infinity);
    const most = bound("most", Infinity);
    let count = 0;
    for (const pair of pairs) {
      const isUnknown = Number.isNaN(pair.number);
      const isShown =
        pair.text.includes(words) &&
        (isUnknown || (pair.number >= least && pair.number <= most)) &&
        (pair.isDiffering || !field("differing").checked);
      pair.element.hidden = !isShown;
      count += isShown;
    }
    field("shown").textContent = `${count} of ${pairs.length} pairs shown`;
  };
  field("controls").addEventListener("input", choose);
  field("controls").addEventListener("submit", (event) => event.preventDefault());
  field("controls").hidden = false;
  choose();
}
