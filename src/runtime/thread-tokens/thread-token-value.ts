import { SecretForm } from '../../core/secret-form.js';

/** The form of browser tokens: `sbt_` and 49 characters. */
export const THREAD_TOKEN = new SecretForm('sbt_');
