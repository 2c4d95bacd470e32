/**
 * Renders a page of the documentation: Markdown as GitHub reads it, to HTML with the anchors that GitHub gives to
 * headings.
 */
import { posix } from 'node:path';
import { Marked } from 'marked';

const ENTITIES = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };

/** @returns the text without tags and entities */
const plain = (html) =>
  html.replaceAll(/<[^>]*>/g, '').replaceAll(/&\w+;|&#39;/g, (entity) => ENTITIES[entity] ?? entity);

export const escaped = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** GitHub's anchor of a heading: letters, digits, `-` and `_`; a repeated one gets a number. */
function anchorOf(text, taken) {
  const anchor = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
  const count = taken.get(anchor) ?? 0;
  taken.set(anchor, count + 1);
  return count === 0 ? anchor : `${anchor}-${count}`;
}

/**
 * @param source the Markdown
 * @param path its path in the repository
 * @param linkTo gives the address of a link or picture: `linkTo(target, anchor, isPicture)`, both as in the repository.
 *   Without an
 * address, a link becomes text
 * @returns the page: `title`, `html`, `headings` as `{depth, text, anchor}`, and the `text` to search in
 */
export function renderPage(source, path, linkTo) {
  const headings = [];
  const taken = new Map();
  const addressOf = (href, isPicture) => {
    if (/^[a-z][a-z+.-]*:/i.test(href)) {
      if (isPicture) throw new Error(`${path}: ${href} would load a picture from another host.`);
      return href;
    }
    const [target, anchor] = href.split('#');
    return linkTo(target === '' ? path : posix.join(posix.dirname(path), target), anchor, isPicture);
  };
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens);
        const text = plain(html);
        const anchor = anchorOf(text, taken);
        headings.push({ depth, text, anchor });
        return `<h${depth} id="${anchor}"><a class="anchor" href="#${anchor}">${html}</a></h${depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const address = addressOf(href, false);
        return address === undefined ? text : `<a href="${escaped(address)}">${text}</a>`;
      },
      image({ href, text }) {
        return `<img src="${escaped(addressOf(href, true))}" alt="${escaped(text)}" loading="lazy">`;
      },
      code({ text, lang = '' }) {
        return `<pre tabindex="0" class="${escaped(lang)}"><code>${escaped(text)}\n</code></pre>\n`;
      },
    },
  });
  const html = marked
    .parse(source)
    .replaceAll('<table>', '<div class="table" tabindex="0" role="group" aria-label="Table"><table>')
    .replaceAll('</table>', '</table></div>');
  const text = plain(html).replaceAll(/\s+/g, ' ');
  return { title: headings.find(({ depth }) => depth === 1)?.text ?? path, html, headings, text };
}
