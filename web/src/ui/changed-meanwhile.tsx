import { Button } from './button.js';

/** Over a form: what it changes was changed by somebody else, too. */
export function ChangedMeanwhile({ what, onLoad }: { readonly what: string; readonly onLoad: () => void }) {
  return (
    <div
      role="status"
      className="flex flex-wrap items-center justify-between gap-2 rounded-md border border-warning/50 p-3 text-sm"
    >
      <p>Somebody changed the {what} meanwhile.</p>
      <Button size="small" variant="secondary" onClick={onLoad}>
        Load it
      </Button>
    </div>
  );
}
