import type { Field } from '../../platform/pages/form.js';
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '../users/password-rules.js';

const MAX_NAME_LENGTH = 128;

/** The address of the account, for the person and for password managers. */
export function ownAddressField(value: string): Field {
  return { name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username', value, isReadOnly: true };
}

/** The field for a password that a person chooses. */
export function newPasswordField(error?: string): Field {
  return {
    name: 'password',
    label: 'New password',
    type: 'password',
    autocomplete: 'new-password',
    hint: `${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters, for example four unrelated words.`,
    error,
    minLength: MIN_PASSWORD_LENGTH,
  };
}

export function nameField(value?: string, error?: string): Field {
  return {
    name: 'name',
    label: 'Your name',
    autocomplete: 'name',
    maxLength: MAX_NAME_LENGTH,
    error,
    ...(value !== undefined && { value }),
  };
}

/** The reason why a name is refused, as a sentence. */
export function nameFault(name: string): string | undefined {
  if (name === '') return 'Enter your name.';
  return name.length > MAX_NAME_LENGTH ? `The name can have at most ${MAX_NAME_LENGTH} characters.` : undefined;
}

/** The reason why an address is refused, as a sentence. */
export function emailFault(email: string): string | undefined {
  const isAddress = email.length <= 254 && /^[^\s@<>"]+@[^\s@<>"]+$/.test(email);
  return isAddress ? undefined : 'Enter an e-mail address such as name@example.com.';
}
