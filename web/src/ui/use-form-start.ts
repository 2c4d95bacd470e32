import { useState } from 'react';

interface FormStart<Stored> {
  /** What the form begins with. */
  readonly start: Stored;
  /** True if somebody changed what is stored while the form was changed, too. */
  readonly isOutdated: boolean;
  /** Begins the form with something else. */
  readonly restart: (stored: Stored) => void;
}

/**
 * What a form begins with: what is stored, until something is changed in the form. The form gets `start.updated_at` as
 * its key.
 * @param draftOf what the form holds of it; other changes do not concern the form
 */
export function useFormStart<Stored extends { readonly updated_at: string }>(
  stored: Stored,
  isChanged: boolean,
  draftOf: (stored: Stored) => object,
): FormStart<Stored> {
  const [start, setStart] = useState(stored);
  const isNewer =
    stored.updated_at > start.updated_at && JSON.stringify(draftOf(stored)) !== JSON.stringify(draftOf(start));
  // React renders again at once, before anything of the old form is shown.
  if (isNewer && !isChanged) setStart(stored);
  return { start, isOutdated: isNewer && isChanged, restart: setStart };
}
