import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** A file that pages load. */
interface FaceFile {
  readonly type: string;
  readonly content: string | Buffer;
}

const packages = createRequire(import.meta.url);
const SVG = 'image/svg+xml';
const FONT_SANS =
  '@fontsource-variable/atkinson-hyperlegible-next/files/atkinson-hyperlegible-next-latin-wght-normal.woff2';

/** By names that contain the hash of the content, so that browsers can keep a file forever. */
const files = new Map<string, FaceFile>();

/** The mark, which browsers show next to the title of a page. */
export const ICON_PATH = pathOf(picture('mark.svg'));
/** The typeface of all text, which a page asks for before it has read its stylesheet. */
export const FONT_PATH = pathOf(font(FONT_SANS));
/** The stylesheet of the pages that the service sends itself. */
export const STYLESHEET_PATH = pathOf(stylesheet('fonts.css', 'tokens.css', 'pages.css'));
/** The stylesheet of `/docs`, after that of Swagger UI. */
export const REFERENCE_STYLESHEET_PATH = pathOf(stylesheet('fonts.css', 'tokens.css', 'reference.css'));

/** The stylesheets, pictures and fonts of the pages. */
export const FACE_FILES: ReadonlyMap<string, FaceFile> = files;

function pathOf(name: string): string {
  return `/pages/${name}`;
}

function add(extension: string, type: string, content: string | Buffer): string {
  const name = `${hash('sha256', content).slice(0, 16)}.${extension}`;
  files.set(name, { type, content });
  return name;
}

function stylesheet(...names: readonly string[]): string {
  const text = names.map(textOf).join('\n');
  const named = text.replaceAll(/url\('([^']+)'\)/g, (_match, path: string) => {
    const name = path.startsWith('@') ? font(path) : picture(path.replace('./', ''));
    return `url('./${name}')`;
  });
  return add('css', 'text/css; charset=utf-8', named);
}

function picture(name: string): string {
  return add('svg', SVG, textOf(name));
}

function font(path: string): string {
  return add('woff2', 'font/woff2', readFileSync(packages.resolve(path)));
}

function textOf(name: string): string {
  return readFileSync(new URL(`./face/${name}`, import.meta.url), 'utf8');
}
