import { DomainError } from '../../core/domain-error.js';
import { SEALED_COLUMNS } from '../../platform/vault/sealed-columns.js';
import type { VaultService } from '../../platform/vault/vault.service.js';
import type { AiProviderEntity } from './ai-provider.entity.js';
import { type FieldValues, PROVIDER_FIELDS, type ProviderField, type ShownOptions } from './provider-fields.js';

/** Masks a stored secret in answers. In an update, it keeps the stored secret. */
export const MASKED_KEY = '***';

/** The columns that the fields of a provider are stored in. */
type FieldColumns = Pick<AiProviderEntity, 'apiKey' | 'options' | 'secrets'>;

/** New values of fields: absent ones keep their value, null removes it, `***` keeps a secret. */
type FieldChange = { readonly [field in ProviderField]?: string | null };

type OptionField = keyof ShownOptions;

const OPTION_FIELDS = Object.keys(PROVIDER_FIELDS).filter((field) => field !== 'api_key') as OptionField[];

/** The context that the vault binds a provider's key to. */
export const apiKeyContext = SEALED_COLUMNS.aiProviderApiKey.contextOf;
/** The context that the vault binds a provider's other secrets to. */
const secretsContext = SEALED_COLUMNS.aiProviderSecrets.contextOf;

/** The fields of a stored provider as answers show them: secrets masked, absent ones left out. */
export function shownFields({ apiKey, options }: Pick<FieldColumns, 'apiKey' | 'options'>): FieldValues {
  return { ...(apiKey === null ? {} : { api_key: MASKED_KEY }), ...options };
}

/**
 * The columns to write for a change of fields.
 * @throws DomainError `internal` if a secret is kept next to a new one, and the stored ones cannot be decrypted
 */
export function changedColumns(
  vault: VaultService,
  stored: FieldColumns & { readonly id: string },
  change: FieldChange,
): Partial<FieldColumns> {
  const { id } = stored;
  const key = change.api_key;
  const apiKey =
    key === undefined || key === MASKED_KEY ? {} : { apiKey: key === null ? null : vault.seal(key, apiKeyContext(id)) };
  const changed = OPTION_FIELDS.filter((field) => {
    const value = change[field];
    return value !== undefined && !(isSecret(field) && value === MASKED_KEY);
  });
  if (changed.length === 0) return apiKey;

  const options: Record<string, string> = { ...stored.options };
  for (const field of changed) {
    const value = change[field];
    if (typeof value !== 'string') delete options[field];
    else options[field] = isSecret(field) ? MASKED_KEY : value;
  }
  if (!changed.some(isSecret)) return { ...apiKey, options };

  const stays = (field: OptionField): boolean => options[field] !== undefined && !changed.includes(field);
  const opened = OPTION_FIELDS.some((field) => isSecret(field) && stays(field)) ? openSecrets(vault, stored) : {};
  const secrets = Object.fromEntries(
    OPTION_FIELDS.filter((field) => isSecret(field) && options[field] !== undefined).map((field) => [
      field,
      stays(field) ? opened[field] : change[field],
    ]),
  );
  const isEmpty = Object.keys(secrets).length === 0;
  return { ...apiKey, options, secrets: isEmpty ? null : vault.seal(JSON.stringify(secrets), secretsContext(id)) };
}

/**
 * The fields of a stored provider, with its secrets in the clear.
 * @throws DomainError `internal` if a secret cannot be decrypted
 */
export function openFields(vault: VaultService, stored: FieldColumns & { readonly id: string }): FieldValues {
  const { id, apiKey } = stored;
  return {
    ...stored.options,
    ...openSecrets(vault, stored),
    ...(apiKey === null ? {} : { api_key: openEnvelope(vault, apiKey, apiKeyContext(id)) }),
  };
}

function openSecrets(vault: VaultService, { id, secrets }: Pick<AiProviderEntity, 'id' | 'secrets'>): FieldValues {
  return secrets === null ? {} : (JSON.parse(openEnvelope(vault, secrets, secretsContext(id))) as FieldValues);
}

function openEnvelope(vault: VaultService, envelope: string, context: string): string {
  try {
    return vault.open(envelope, context);
  } catch (cause) {
    const message = 'The stored key of the AI provider cannot be decrypted; store the key again.';
    throw new DomainError('internal', message, [], { cause });
  }
}

function isSecret(field: ProviderField): boolean {
  return PROVIDER_FIELDS[field].isSecret;
}
