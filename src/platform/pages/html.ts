/** Markup that can be sent. Only the template tag below creates it. */
export class Html {
  constructor(readonly markup: string) {}

  toString(): string {
    return this.markup;
  }
}

/** What a template can contain. Text is escaped; false and undefined are empty. */
type HtmlPart = Html | string | number | false | undefined | readonly HtmlPart[];

/** Template tag for markup: `html`<p>${text}</p>``. Escapes every value that is not markup itself. */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return new Html(strings.map((text, index) => text + markupOf(parts[index])).join(''));
}

const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function markupOf(part: HtmlPart): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.markup;
  if (typeof part === 'object') return part.map(markupOf).join('');
  return String(part).replaceAll(/[&<>"']/g, (character) => ESCAPED[character] ?? character);
}
