import { useState } from 'react';
import type { ToolInput } from '../../../../packages/client/src/api.js';
import { useChange } from '../../api/queries.js';
import { SelectField, TextField } from '../../ui/field.js';
import { useToast } from '../../ui/toast.js';
import { FormDialog } from './form-dialog.js';

type Data = ToolInput<'AI_PROVIDER_CREATE'>['data'];

const KINDS = [
  { value: 'openai', label: 'OpenAI' },
  { value: 'anthropic', label: 'Anthropic' },
  { value: 'openai-compatible', label: 'OpenAI-compatible server' },
] as const;

/** Adds a provider, or changes one. */
export function ProviderDialog({
  provider,
  onClose,
}: {
  readonly provider:
    | { readonly id: string; readonly title: string; readonly kind: Data['kind']; readonly base_url: string | null }
    | undefined;
  readonly onClose: () => void;
}) {
  const [title, setTitle] = useState(provider?.title ?? '');
  const [kind, setKind] = useState<Data['kind']>(provider?.kind ?? 'openai');
  const [url, setUrl] = useState(provider?.base_url ?? '');
  const [key, setKey] = useState('');
  const create = useChange('AI_PROVIDER_CREATE', ['AI_PROVIDER_LIST']);
  const update = useChange('AI_PROVIDER_UPDATE', ['AI_PROVIDER_LIST']);
  const say = useToast();
  const submit = async (): Promise<void> => {
    const data: Data = {
      title: title.trim(),
      kind,
      base_url: url.trim() === '' ? null : url.trim(),
      // An empty field keeps the stored key.
      ...(key === '' ? {} : { api_key: key }),
    };
    if (provider === undefined) await create.mutateAsync({ data });
    else await update.mutateAsync({ id: provider.id, data });
    say(provider === undefined ? 'The provider was added. Choose its models below.' : 'The provider was changed.');
  };
  return (
    <FormDialog
      title={provider === undefined ? 'Add provider' : 'Edit provider'}
      submitLabel={provider === undefined ? 'Add provider' : 'Save provider'}
      isOpen
      onClose={onClose}
      onSubmit={submit}
    >
      <TextField label="Name" required maxLength={256} value={title} onChange={setTitle} autoFocus />
      <SelectField label="Kind" value={kind} options={KINDS} onChange={setKind} />
      <TextField
        label="Address"
        type="url"
        required={kind === 'openai-compatible'}
        placeholder={kind === 'openai-compatible' ? 'http://localhost:11434/v1' : 'The usual one'}
        hint="What comes before /chat/completions."
        value={url}
        onChange={setUrl}
      />
      <TextField
        label="API key"
        type="password"
        autoComplete="off"
        placeholder={provider === undefined ? '' : 'Unchanged'}
        hint="Stored encrypted. Nobody can read it again."
        value={key}
        onChange={setKey}
      />
    </FormDialog>
  );
}
