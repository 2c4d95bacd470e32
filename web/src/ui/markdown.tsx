import { type ComponentProps, type CSSProperties, isValidElement, type ReactNode } from 'react';
import remarkMath from 'remark-math';
import {
  Block,
  type BlockProps,
  type Components,
  type ControlsConfig,
  defaultRemarkPlugins,
  Streamdown,
  useIsCodeFenceIncomplete,
} from 'streamdown';
import { cn } from './class-names.js';
import { CodeSample } from './code-sample.js';
import { Formula } from './formula.js';
import { hasLongParagraph } from './long-paragraph.js';

/** Only the service's own buttons: Streamdown's would open addresses and save files. */
const CONTROLS: ControlsConfig = false;
const LINK_SAFETY = { enabled: false };

/** Deep quotes and lists are not indented further: they would leave the page. */
const CLASSES = cn(
  'min-w-0 space-y-2 break-words [&_li]:max-w-[70ch]',
  '[&_blockquote_blockquote_blockquote_blockquote]:m-0 [&_blockquote_blockquote_blockquote_blockquote]:border-0',
  '[&_blockquote_blockquote_blockquote_blockquote]:p-0',
  '[&_li_li_li_li_li_:is(ol,ul)]:m-0 [&_li_li_li_li_li_:is(ol,ul)]:p-0',
);

/** Two dollars: with one, prices would be formulas. */
const REMARK_PLUGINS: ComponentProps<typeof Streamdown>['remarkPlugins'] = [
  ...Object.values(defaultRemarkPlugins),
  [remarkMath, { singleDollarTextMath: false }],
];
/** What remark-math calls the language of a formula. It hands on its text, which is sanitized with everything else. */
const MATH = 'math';

const heading = (Tag: 'h3' | 'h4' | 'h5', size: string) =>
  function Heading({ children }: ComponentProps<'h1'>) {
    return <Tag className={`mt-3 mb-1 font-semibold ${size}`}>{children}</Tag>;
  };

/**
 * How elements look. Headings are below those of the view. Pictures are links, because loading one would tell its
 * server that somebody reads the text, and a model can write anything into the address.
 */
const COMPONENTS = {
  h1: heading('h3', 'text-lg'),
  h2: heading('h3', 'text-base'),
  h3: heading('h4', 'text-[0.9375rem]'),
  h4: heading('h5', 'text-sm'),
  h5: heading('h5', 'text-sm'),
  h6: heading('h5', 'text-sm'),
  a: Anchor,
  img: ({ src, alt }: ComponentProps<'img'>) => (
    <Anchor href={typeof src === 'string' ? src : undefined}>Picture{alt ? `: ${alt}` : ''}</Anchor>
  ),
  pre: Fence,
  code: ({ children }: ComponentProps<'code'>) => <code>{children}</code>,
  inlineCode: ({ children, className }: ComponentProps<'code'>) =>
    languageOf(className) === MATH ? (
      <Formula tex={textOf(children)} isBlock={false} />
    ) : (
      <code className="rounded bg-muted px-1 py-0.5 font-mono text-[0.85em]">{children}</code>
    ),
  table: ({ children }: ComponentProps<'table'>) => (
    <div className="my-2 max-h-96 overflow-auto rounded-md border" role="region" aria-label="Table" tabIndex={0}>
      <table className="text-sm">{children}</table>
    </div>
  ),
  th: ({ children, style }: ComponentProps<'th'>) => (
    <th className={`border-b bg-muted px-3 py-1.5 font-medium ${alignmentOf(style)}`}>{children}</th>
  ),
  td: ({ children, style }: ComponentProps<'td'>) => (
    <td className={`border-b px-3 py-1.5 align-top ${alignmentOf(style)}`}>{children}</td>
  ),
  source: () => null,
} as Components;

/**
 * Markdown of models and tools, also while it streams. Streamdown sanitizes it: no HTML that runs or frames. What is
 * left loads nothing, and links only to http, https and mailto.
 */
export function Markdown({ text, isStreaming = false }: { readonly text: string; readonly isStreaming?: boolean }) {
  return (
    <Streamdown
      className={CLASSES}
      BlockComponent={BlockOrText}
      components={COMPONENTS}
      controls={CONTROLS}
      linkSafety={LINK_SAFETY}
      remarkPlugins={REMARK_PLUGINS}
      isAnimating={isStreaming}
      parseIncompleteMarkdown={isStreaming}
    >
      {text}
    </Streamdown>
  );
}

/** A part of the text as Markdown, or as it is if reading it as Markdown would hold up the page. */
function BlockOrText(props: BlockProps) {
  if (!hasLongParagraph(props.content)) return <Block {...props} />;
  return <p className="max-w-none break-words whitespace-pre-wrap">{props.content}</p>;
}

/** Of a column, as the colons below its head say. */
function alignmentOf(style: CSSProperties | undefined): string {
  if (style?.textAlign === 'right') return 'text-right';
  return style?.textAlign === 'center' ? 'text-center' : 'text-left';
}

function Anchor({ href, children }: { readonly href?: string | undefined; readonly children?: ReactNode }) {
  if (href === undefined || !/^(?:https?|mailto):/i.test(href)) return <span>{children}</span>;
  // The title shows where the link goes, whatever its text says.
  return (
    <a href={href} title={href} target="_blank" rel="noopener noreferrer nofollow" className="text-primary underline">
      {children}
    </a>
  );
}

function Fence({ children }: ComponentProps<'pre'>) {
  const isGrowing = useIsCodeFenceIncomplete();
  const language = isValidElement<{ className?: string }>(children) ? languageOf(children.props.className) : undefined;
  const text = textOf(children).replace(/\n$/, '');
  if (language === MATH && !isGrowing) return <Formula tex={text} isBlock />;
  return <CodeSample text={text} language={language} isGrowing={isGrowing} />;
}

/** The first word of a fence, which the sanitizer keeps as a class. */
function languageOf(className: string | undefined): string | undefined {
  return /(?:^| )language-(\S+)/.exec(className ?? '')?.[1];
}

function textOf(node: ReactNode): string {
  if (typeof node === 'string' || typeof node === 'number') return String(node);
  if (Array.isArray(node)) return node.map(textOf).join('');
  if (typeof node !== 'object' || node === null || !('props' in node)) return '';
  return textOf((node.props as { children?: ReactNode }).children);
}
