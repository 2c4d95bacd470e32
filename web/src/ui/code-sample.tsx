import { useEffect, useState } from 'react';
import { CopyButton } from './copy-button.js';
import { type CodeSpan, highlight } from './highlight.js';

/** A block of code of a message, in the colours of its language once they are found. */
export function CodeSample({
  text,
  language,
  isGrowing,
}: {
  readonly text: string;
  readonly language: string | undefined;
  /** More of it is coming. It stays in one colour until then, as the colours of its end would flicker. */
  readonly isGrowing: boolean;
}) {
  const spans = useColours(text, isGrowing ? undefined : language);
  return (
    <div className="my-2 min-w-0 overflow-hidden rounded-md border bg-muted">
      {/* The button stands above the code, which it would cover in part on a narrow screen. */}
      <div className="flex min-w-0 items-center justify-between gap-2 border-b py-1 pr-1 pl-3">
        <span className="truncate text-xs text-muted-foreground">{language}</span>
        <CopyButton text={text} variant="ghost" />
      </div>
      <pre
        tabIndex={0}
        role="region"
        aria-label="Code"
        className="max-h-96 overflow-auto p-3 font-mono text-[0.8125rem]"
      >
        {spans?.map(({ text: part, className }, index) =>
          className === undefined ? (
            part
          ) : (
            <span key={index} className={className}>
              {part}
            </span>
          ),
        ) ?? text}
      </pre>
    </div>
  );
}

function useColours(text: string, language: string | undefined): readonly CodeSpan[] | undefined {
  const [found, setFound] = useState<{ readonly text: string; readonly spans: readonly CodeSpan[] | undefined }>();
  useEffect(() => {
    if (language === undefined) return;
    const abort = new AbortController();
    void highlight(text, language.toLowerCase(), abort.signal).then(
      (spans) => !abort.signal.aborted && setFound({ text, spans }),
      // Without the highlighter, for example while the service is away, code can still be read.
      () => undefined,
    );
    return () => abort.abort();
  }, [text, language]);
  return found?.text === text ? found.spans : undefined;
}
