import { useMutation } from '@tanstack/react-query';
import { SignalboxError } from '../../../../packages/client/src/signalbox-error.js';
import type { Condition } from '../../api/queries.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { ErrorMessage } from '../../ui/states.js';

const FORMATS = [
  { format: 'csv', label: 'Export CSV' },
  { format: 'jsonl', label: 'Export JSON lines' },
] as const;

interface ExportProps {
  readonly records: 'calls' | 'events';
  readonly where: Condition | undefined;
}

/** Saves all records that a list selects, not only those that it shows. Offered to holders of `MONITORING_EXPORT`. */
export function ExportButtons(props: ExportProps) {
  const { may } = useOrganization();
  return may('MONITORING_EXPORT') && FORMATS.map((each) => <ExportButton key={each.format} {...each} {...props} />);
}

function ExportButton({ format, label, records, where }: ExportProps & (typeof FORMATS)[number]) {
  const { slug, fetch } = useOrganization();
  const save = useMutation({
    mutationFn: async () => {
      const response = await fetch(`/api/${slug}/monitoring/export`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ records, format, ...(where && { where }) }),
      });
      if (!response.ok) throw await SignalboxError.of(response);
      download(await wholeBodyOf(response), `signalbox-${records}.${format}`);
    },
  });
  return (
    <>
      <Button variant="secondary" isBusy={save.isPending} onClick={() => save.mutate()}>
        {label}
      </Button>
      <ErrorMessage error={save.error} />
    </>
  );
}

/** @throws Error if the connection broke before the end: a part of a record would pass for all of it. */
async function wholeBodyOf(response: Response): Promise<Blob> {
  try {
    return await response.blob();
  } catch {
    throw new Error('The export broke off before its end, so nothing was saved. Try again.');
  }
}

function download(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
