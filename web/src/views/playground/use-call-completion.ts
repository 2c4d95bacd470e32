import {
  type KeyboardEvent,
  type RefObject,
  type SyntheticEvent,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { toolsAt, withCall } from './call-completion.js';

/** More are found by more letters. */
const SHOWN = 50;

/**
 * Completes the names of tools in `/call`. The focus stays in the field, which says what is chosen in the list.
 * @param names of the tools that can be called
 */
export function useCallCompletion({
  text,
  onText,
  names,
  inputRef,
}: {
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly names: readonly string[];
  readonly inputRef: RefObject<HTMLTextAreaElement | null>;
}) {
  const id = useId();
  const [caret, setCaret] = useState<number>();
  const [chosen, setChosen] = useState(0);
  /** The text for which the list was closed. */
  const [closed, setClosed] = useState<string>();
  const nextCaret = useRef<number>(undefined);
  const found = caret === undefined || closed === text ? [] : toolsAt(text, caret, names);
  const tools = found.slice(0, SHOWN);
  const isOpen = tools.length > 0;
  const active = Math.min(chosen, tools.length - 1);
  const optionId = (index: number): string => `${id}-${index}`;

  useLayoutEffect(() => {
    if (nextCaret.current === undefined) return;
    inputRef.current?.setSelectionRange(nextCaret.current, nextCaret.current);
    nextCaret.current = undefined;
  }, [text, inputRef]);

  const take = (tool: string): void => {
    const completed = withCall(text, caret ?? 0, tool);
    setClosed(completed.text);
    if (completed.text === text) return;
    nextCaret.current = completed.caret;
    setCaret(completed.caret);
    onText(completed.text);
  };
  /** The text or the caret has changed. */
  const onSelect = ({ currentTarget }: SyntheticEvent<HTMLTextAreaElement>): void => {
    const { selectionStart, selectionEnd } = currentTarget;
    setCaret(selectionStart === selectionEnd ? selectionStart : undefined);
    setChosen(0);
  };
  /** Returns whether the key was for the list. */
  const onKeyDown = (event: KeyboardEvent): boolean => {
    const { key, shiftKey, ctrlKey, altKey, metaKey, nativeEvent } = event;
    if (!isOpen || shiftKey || ctrlKey || altKey || metaKey || nativeEvent.isComposing) return false;
    if (key === 'ArrowDown') setChosen((active + 1) % tools.length);
    else if (key === 'ArrowUp') setChosen((active + tools.length - 1) % tools.length);
    else if (key === 'Enter' || key === 'Tab') take(tools[active] ?? '');
    else if (key === 'Escape') setClosed(text);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  return {
    tools,
    foundCount: found.length,
    active,
    listId: id,
    optionId,
    take,
    onKeyDown,
    /** Of the field. */
    field: {
      onSelect,
      onBlur: () => setCaret(undefined),
      ...(names.length > 0 && { 'aria-autocomplete': 'list' as const, 'aria-haspopup': 'listbox' as const }),
      ...(isOpen && { 'aria-controls': id, 'aria-activedescendant': optionId(active) }),
    },
  };
}
