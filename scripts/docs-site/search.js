// Shows the pages that contain all words of the search field, those with a word in their title first.
const MOST = 12;
const AROUND = 60;
const field = document.querySelector('input[type=search]');
const results = document.querySelector('.results');

field.addEventListener('input', () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits =
    words.length === 0 ? [] : globalThis.searchIndex.filter((page) => words.every((word) => has(page, word)));
  const inTitle = (page) => words.filter((word) => page.title.toLowerCase().includes(word)).length;
  hits.sort((one, other) => inTitle(other) - inTitle(one));
  results.replaceChildren(...hits.slice(0, MOST).map((page) => entry(page, words[0])));
  if (words.length > 0 && hits.length === 0) results.replaceChildren('No page contains these words.');
});

document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target === field) return;
  event.preventDefault();
  field.focus();
});

function has({ title, text }, word) {
  return title.toLowerCase().includes(word) || text.toLowerCase().includes(word);
}

function entry({ url, title, text }, word) {
  const link = document.createElement('a');
  link.href = document.body.dataset.root + url;
  link.textContent = title;
  const at = text.toLowerCase().indexOf(word);
  const excerpt = document.createElement('small');
  if (at !== -1) excerpt.textContent = `…${text.slice(Math.max(at - AROUND, 0), at + AROUND)}…`;
  const item = document.createElement('li');
  item.append(link, excerpt);
  return item;
}
