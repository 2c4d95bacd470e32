import { Search } from 'lucide-react';
import { useEffect, useId, useRef, useState } from 'react';

const PAUSE_MS = 250;

/** A search box that reports its text when the typing pauses. */
export function SearchField({
  label,
  value,
  onSearch,
}: {
  readonly label: string;
  readonly value: string;
  readonly onSearch: (text: string) => void;
}) {
  const id = useId();
  const [text, setText] = useState(value);
  // What was reported becomes the value later, when more may have been typed.
  const reported = useRef<string[]>([]);
  useEffect(() => {
    const index = reported.current.indexOf(value);
    reported.current = reported.current.slice(index + 1);
    if (index === -1) setText(value);
  }, [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => {
      reported.current.push(text);
      onSearch(text);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, value, onSearch]);
  return (
    <div role="search" className="relative min-w-48 flex-1 max-sm:basis-full">
      <label htmlFor={id} className="sr-only">
        {label}
      </label>
      <Search aria-hidden className="pointer-events-none absolute top-2.5 left-2.5 size-4 text-muted-foreground" />
      <input
        id={id}
        type="search"
        placeholder={label}
        className="h-9 w-full rounded-md border border-input bg-card pr-3 pl-8 placeholder:text-muted-foreground"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </div>
  );
}
