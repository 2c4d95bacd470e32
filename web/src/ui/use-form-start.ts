import { useEffect, useRef, useState } from 'react';

interface FormStart<Stored> {
  /** What the form begins with. */
  readonly start: Stored;
  /** True if somebody changed what is stored while the form was changed, too. */
  readonly isOutdated: boolean;
  /** The key of the form: changes when it begins again. */
  readonly formKey: string;
  /** Begins the form with something else; `keepsDraft` if it goes on with what it holds. */
  readonly restart: (stored: Stored, keepsDraft?: boolean) => void;
}

/**
 * What a form begins with: what is stored, until something is changed in the form.
 * @param draftOf what the form holds of it; other changes do not concern the form
 */
export function useFormStart<Stored extends { readonly updated_at: string }>(
  stored: Stored,
  isChanged: boolean,
  draftOf: (stored: Stored) => object,
): FormStart<Stored> {
  const [{ start, formKey }, setForm] = useState({ start: stored, formKey: stored.updated_at });
  const restart = (next: Stored, keepsDraft = false): void =>
    setForm((form) => ({ start: next, formKey: keepsDraft ? form.formKey : next.updated_at }));
  const isNewer =
    stored.updated_at > start.updated_at && JSON.stringify(draftOf(stored)) !== JSON.stringify(draftOf(start));
  // React renders again at once, before anything of the old form is shown.
  if (isNewer && !isChanged) restart(stored);
  return { start, isOutdated: isNewer && isChanged, formKey, restart };
}

/** Returns what tells whether the form holds another draft by now: something was typed since. */
export function useTypedSince(draft: object): () => boolean {
  const latest = useRef(draft);
  useEffect(() => void (latest.current = draft), [draft]);
  return () => latest.current !== draft;
}
