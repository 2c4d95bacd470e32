import type { createHighlighterCore, GrammarState, LanguageRegistration } from '@shikijs/core';

/** Longer code stays in one colour: finding its tokens, and keeping an element for each, would slow the page down. */
const MAX_LENGTH = 50_000;
/** So do longer lines, which a pattern could take very long to match. */
const MAX_LINE_LENGTH = 500;
/** Without a break, the page does not answer. */
const WORK_MS = 12;

type Load = () => Promise<{ readonly default: LanguageRegistration[] }>;

const typescript: Load = () => import('@shikijs/langs/typescript');
const javascript: Load = () => import('@shikijs/langs/javascript');
const bash: Load = () => import('@shikijs/langs/bash');
const python: Load = () => import('@shikijs/langs/python');
const yaml: Load = () => import('@shikijs/langs/yaml');
const rust: Load = () => import('@shikijs/langs/rust');

/** The languages by the names that models write after the fence. Each is loaded when code in it is shown. */
const LANGUAGES: ReadonlyMap<string, Load> = new Map<string, Load>([
  ['typescript', typescript],
  ['ts', typescript],
  ['tsx', () => import('@shikijs/langs/tsx')],
  ['javascript', javascript],
  ['js', javascript],
  ['json', () => import('@shikijs/langs/json')],
  ['bash', bash],
  ['sh', bash],
  ['shell', bash],
  ['python', python],
  ['py', python],
  ['sql', () => import('@shikijs/langs/sql')],
  ['yaml', yaml],
  ['yml', yaml],
  ['html', () => import('@shikijs/langs/html')],
  ['css', () => import('@shikijs/langs/css')],
  ['go', () => import('@shikijs/langs/go')],
  ['rust', rust],
  ['rs', rust],
  ['java', () => import('@shikijs/langs/java')],
  ['diff', () => import('@shikijs/langs/diff')],
]);

const THEME = 'css-variables';
/** What the theme calls a colour, and the class that has it in both themes of the console. */
const CLASSES: ReadonlyMap<string, string> = new Map([
  ['var(--shiki-token-keyword)', 'text-code-keyword'],
  ['var(--shiki-token-string)', 'text-code-string'],
  ['var(--shiki-token-string-expression)', 'text-code-string'],
  ['var(--shiki-token-constant)', 'text-code-constant'],
  ['var(--shiki-token-function)', 'text-code-function'],
  ['var(--shiki-token-link)', 'text-code-function'],
  ['var(--shiki-token-comment)', 'text-muted-foreground'],
  ['var(--shiki-token-inserted)', 'text-code-string'],
  ['var(--shiki-token-deleted)', 'text-code-deleted'],
  ['var(--shiki-token-changed)', 'text-code-constant'],
]);

/** A stretch of code in one colour. */
export interface CodeSpan {
  readonly text: string;
  readonly className: string | undefined;
}

type Highlighter = Awaited<ReturnType<typeof createHighlighterCore>>;

let loading: Promise<Highlighter> | undefined;

/**
 * The code in its colours, in order; nothing if it has none. Loads the highlighter and the language when they are
 * needed for the first time, and lets the page answer in between.
 */
export async function highlight(
  code: string,
  language: string,
  signal: AbortSignal,
): Promise<readonly CodeSpan[] | undefined> {
  const load = LANGUAGES.get(language);
  if (load === undefined || code.length > MAX_LENGTH) return undefined;
  const highlighter = await (loading ??= start());
  await highlighter.loadLanguage(load);
  const spans: CodeSpan[] = [];
  let grammarState: GrammarState | undefined;
  let begun = 0;
  for (const [index, line] of code.split('\n').entries()) {
    if (performance.now() - begun > WORK_MS) {
      await new Promise((resolve) => setTimeout(resolve));
      if (signal.aborted) return undefined;
      begun = performance.now();
    }
    if (index > 0) append(spans, '\n', undefined);
    const tokens = highlighter.codeToTokensBase(line, {
      lang: language,
      theme: THEME,
      tokenizeMaxLineLength: MAX_LINE_LENGTH,
      // A line is short enough to be finished, however slow the machine is.
      tokenizeTimeLimit: 0,
      ...(grammarState && { grammarState }),
    });
    grammarState = highlighter.getLastGrammarState(tokens) ?? grammarState;
    for (const { content, color } of tokens.flat()) append(spans, content, CLASSES.get(color ?? ''));
  }
  return spans;
}

/** The engine in JavaScript: the one in WebAssembly would need a wider Content-Security-Policy. */
async function start(): Promise<Highlighter> {
  const [{ createCssVariablesTheme, createHighlighterCore }, { createJavaScriptRegexEngine }] = await Promise.all([
    import('@shikijs/core'),
    import('@shikijs/engine-javascript'),
  ]);
  const engine = createJavaScriptRegexEngine({ forgiving: true });
  return createHighlighterCore({ engine, themes: [createCssVariablesTheme({ name: THEME })], langs: [] });
}

/** Fewer elements: neighbours of one colour become one. */
function append(spans: CodeSpan[], text: string, className: string | undefined): void {
  const last = spans.at(-1);
  if (last?.className === className && last !== undefined)
    spans[spans.length - 1] = { text: last.text + text, className };
  else spans.push({ text, className });
}
