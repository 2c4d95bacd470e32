import { Plus } from 'lucide-react';
import { type ReactNode, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { type ModelDraft, newDraft } from './model-draft.js';
import { ModelFields, type Provider } from './model-fields.js';
import { PlaceInOrder } from './place-in-order.js';

const MAX_FALLBACKS = 4;

/** The models of a tier in the order in which they are called. */
export function TierModels({
  drafts,
  emptyLabel,
  providers,
  onChange,
  children,
}: {
  readonly drafts: readonly ModelDraft[];
  /** What answers while the tier has no models. */
  readonly emptyLabel: string;
  readonly providers: readonly Provider[];
  readonly onChange: (drafts: readonly ModelDraft[]) => void;
  /** What stands beside the button that adds a fallback. */
  readonly children: ReactNode;
}) {
  const { may } = useOrganization();
  const list = useRef<HTMLOListElement>(null);
  const addButton = useRef<HTMLButtonElement>(null);
  const [news, setNews] = useState('');
  const providerId = drafts[0]?.providerId ?? '';
  const shown = providerId === '' ? drafts.slice(0, 1) : drafts;
  const add = (): void => {
    flushSync(() => onChange([...drafts, newDraft(providerId)]));
    list.current?.lastElementChild?.querySelector('select')?.focus();
  };
  const move = (draft: ModelDraft, from: number, to: number): void =>
    flushSync(() => {
      onChange(drafts.toSpliced(from, 1).toSpliced(to, 0, draft));
      setNews(`Moved to “${nameOf(to)}”.`);
    });
  const remove = (index: number): void => {
    flushSync(() => onChange(drafts.toSpliced(index, 1)));
    addButton.current?.focus();
  };
  return (
    <>
      <ol ref={list} className="flex flex-col gap-3">
        {shown.map((draft, index) => (
          <li key={draft.key}>
            <PlaceInOrder
              name={nameOf(index)}
              index={index}
              length={shown.length}
              isFixed={!may('MODEL_TIERS_SET')}
              onMove={(to) => move(draft, index, to)}
              onRemove={index === 0 ? undefined : () => remove(index)}
            >
              <ModelFields
                draft={draft}
                emptyLabel={index === 0 ? emptyLabel : undefined}
                providers={providers}
                onChange={(changed) => onChange(drafts.with(index, changed))}
              />
            </PlaceInOrder>
          </li>
        ))}
      </ol>
      <p role="status" className="sr-only">
        {news}
      </p>
      {may('MODEL_TIERS_SET') && (
        <div className="flex flex-wrap items-center justify-between gap-2">
          {providerId !== '' && (
            <Button ref={addButton} variant="secondary" disabled={drafts.length > MAX_FALLBACKS} onClick={add}>
              <Plus aria-hidden className="size-4" /> Add fallback
            </Button>
          )}
          {children}
        </div>
      )}
    </>
  );
}

function nameOf(index: number): string {
  return index === 0 ? 'First model' : `Fallback ${index}`;
}
