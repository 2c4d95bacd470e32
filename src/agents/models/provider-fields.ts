/**
 * The fields of a provider in which kinds differ, with their names in `LanguageModelSettings`. The values of secret
 * ones are stored sealed and never returned.
 */
export const PROVIDER_FIELDS = {
  api_key: { setting: 'apiKey', isSecret: true },
  api_version: { setting: 'apiVersion', isSecret: false },
  region: { setting: 'region', isSecret: false },
  // The account of AWS can be computed from the id of its key.
  access_key_id: { setting: 'accessKeyId', isSecret: true },
  secret_access_key: { setting: 'secretAccessKey', isSecret: true },
  session_token: { setting: 'sessionToken', isSecret: true },
} as const satisfies Record<string, { setting: string; isSecret: boolean }>;

export type ProviderField = keyof typeof PROVIDER_FIELDS;

/** Values by the names of their fields. */
export type FieldValues = { readonly [field in ProviderField]?: string };

/** The fields except the key, as answers show them: secrets masked. */
export type ShownOptions = Omit<FieldValues, 'api_key'>;

/** Values by the names of the settings that kinds get. */
export type FieldSettings = {
  readonly [field in ProviderField as (typeof PROVIDER_FIELDS)[field]['setting']]?: string;
};

/** What a kind demands of a field that it takes. */
interface FieldRule {
  readonly isRequired?: boolean;
  /** The form of the value; only for fields that are not secret. */
  readonly form?: RegExp;
  /** The form in words, for the error message: `must be the date of a version`. */
  readonly formRule?: string;
}

/** The fields that a kind takes. */
export type FieldRules = { readonly [field in ProviderField]?: FieldRule };

/** What a kind declares about its providers: a part of `LanguageModels`. */
interface DeclaredFields {
  readonly fields?: FieldRules;
  readonly needsBaseUrl?: boolean;
}

/** A field that does not suit the kind of its provider, in the form of `DomainError`. */
interface FieldFault {
  path: string;
  code: string;
  message: string;
}

/** The rules of a kind that declares none. */
const KEY_ONLY: FieldRules = { api_key: {} };

const FIELDS = Object.keys(PROVIDER_FIELDS) as ProviderField[];

export const SECRET_FIELDS = FIELDS.filter((field) => PROVIDER_FIELDS[field].isSecret);

/** What is wrong with the fields of a provider of this kind; empty if nothing is. */
export function fieldFaults(
  kind: string,
  { fields: rules = KEY_ONLY, needsBaseUrl = false }: DeclaredFields,
  { baseUrl, values }: { baseUrl: string | null; values: FieldValues },
): FieldFault[] {
  const isHomeless = needsBaseUrl && baseUrl === null;
  const faults = isHomeless ? [fault('base_url', 'is_defined', `A provider of kind ${kind} requires a base URL.`)] : [];
  for (const field of FIELDS) {
    const [rule, value] = [rules[field], values[field]];
    if (value === undefined) {
      if (rule?.isRequired) faults.push(fault(field, 'is_defined', `A provider of kind ${kind} requires ${field}.`));
    } else if (rule === undefined) {
      const message = `A provider of kind ${kind} takes no ${field}. Leave it out, or send null to remove the stored one.`;
      faults.push(fault(field, 'is_empty', message));
    } else if (rule.form?.test(value) === false) {
      faults.push(fault(field, 'matches', `${field} ${rule.formRule ?? 'has an invalid form'}.`));
    }
  }
  return faults;
}

/** The values by the names that kinds know them by. */
export function toSettings(values: FieldValues): FieldSettings {
  return Object.fromEntries(
    FIELDS.flatMap((field) => (values[field] === undefined ? [] : [[PROVIDER_FIELDS[field].setting, values[field]]])),
  );
}

function fault(field: string, code: string, message: string): FieldFault {
  return { path: `data.${field}`, code, message };
}
