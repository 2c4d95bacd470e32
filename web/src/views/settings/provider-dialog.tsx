import { useState } from 'react';
import type { ToolInput } from '../../../../packages/client/src/api.js';
import { changesOf } from '../../api/changes-of.js';
import { useChange } from '../../api/queries.js';
import { SelectField, TextField } from '../../ui/field.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { useToast } from '../../ui/toast.js';
import { KIND_FIELDS, type KindField, KINDS, type Provider } from './provider-kinds.js';

type Data = ToolInput<'AI_PROVIDER_CREATE'>['data'];
type Values = { readonly [field in KindField]?: string };

const OPTIONS = Object.entries(KINDS).map(([value, { label }]) => ({ value: value as Provider['kind'], label }));

/** Adds a provider, or changes one. */
export function ProviderDialog({
  provider,
  onClose,
}: {
  readonly provider: Provider | undefined;
  readonly onClose: () => void;
}) {
  const [title, setTitle] = useState(provider?.title ?? '');
  const [kind, setKind] = useState<Data['kind']>(provider?.kind ?? 'openai');
  const [url, setUrl] = useState(provider?.base_url ?? '');
  const [values, setValues] = useState<Values>(() => plainValues(provider));
  const create = useChange('AI_PROVIDER_CREATE', ['AI_PROVIDER_LIST']);
  const update = useChange('AI_PROVIDER_UPDATE', ['AI_PROVIDER_LIST']);
  const say = useToast();
  const form = KINDS[kind];
  const server = {
    kind,
    base_url: url.trim() === '' ? null : url.trim(),
    ...fieldsOf(provider, kind, values),
  };
  const data: Data = { title: title.trim(), ...server };
  const [start] = useState(data);
  const submit = async (): Promise<void> => {
    if (provider === undefined) await create.mutateAsync({ data });
    else {
      // Sends a new secret together with the server that the form shows.
      const isSecret = KIND_FIELDS.some(({ name, isSecret }) => isSecret && server[name] != null);
      const changes = { ...(isSecret && server), ...changesOf(data, start) };
      await update.mutateAsync({ id: provider.id, data: changes });
    }
    say(provider === undefined ? 'The provider was added. Choose its models below.' : 'The provider was changed.');
  };
  return (
    <FormDialog
      title={provider === undefined ? 'Add provider' : 'Edit provider'}
      submitLabel={provider === undefined ? 'Add provider' : 'Save provider'}
      onClose={onClose}
      onSubmit={submit}
    >
      <TextField label="Name" path="title" required maxLength={256} value={title} onChange={setTitle} autoFocus />
      <SelectField label="Kind" path="kind" value={kind} options={OPTIONS} onChange={setKind} />
      <TextField
        label="Address"
        path="base_url"
        type="url"
        required={form.isAddressRequired === true}
        placeholder={form.address}
        hint={form.addressHint}
        value={url}
        onChange={setUrl}
      />
      {KIND_FIELDS.filter(({ name }) => form.fields[name] !== undefined).map(
        ({ name, label, isSecret, placeholder }) => {
          const isStored = isSecret && provider?.[name] != null;
          return (
            <TextField
              key={name}
              path={name}
              label={label}
              required={form.fields[name] === 'required' && !isStored}
              placeholder={isStored ? 'Unchanged' : placeholder}
              {...(isSecret
                ? { type: 'password', autoComplete: 'off', hint: 'Stored encrypted. Nobody can read it again.' }
                : {})}
              value={values[name] ?? ''}
              onChange={(value) => setValues({ ...values, [name]: value })}
            />
          );
        },
      )}
    </FormDialog>
  );
}

/** The stored values that can be shown. */
function plainValues(provider: Provider | undefined): Values {
  return { region: provider?.region ?? '', api_version: provider?.api_version ?? '' };
}

/** An empty field of a secret keeps it; what is stored of another kind is removed. */
function fieldsOf(provider: Provider | undefined, kind: Provider['kind'], values: Values): Partial<Data> {
  return Object.fromEntries(
    KIND_FIELDS.flatMap(({ name, isSecret }): [KindField, string | null][] => {
      const value = values[name]?.trim() ?? '';
      const isTaken = KINDS[kind].fields[name] !== undefined;
      const isStored = provider?.[name] != null;
      if (isTaken && value !== '') return [[name, value]];
      return isStored && (!isTaken || !isSecret) ? [[name, null]] : [];
    }),
  );
}
