import type { FastifyInstance, FastifyRequest } from 'fastify';
import { html, type Html } from './html.js';
import { DomainError } from '../../core/domain-error.js';

/** One labelled input of a form. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type?: 'text' | 'email' | 'password';
  readonly value?: string;
  /** The `autocomplete` token of HTML, such as `username` or `new-password`. */
  readonly autocomplete?: string;
  /** A sentence below the label, such as a rule for the value. */
  readonly hint?: string;
  /** The fault of the last submission. */
  readonly error?: string | undefined;
  readonly isReadOnly?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly hasFocus?: boolean;
}

interface FormOptions {
  /** The path to post to; the address of the page if omitted. */
  readonly action?: string;
  /** From `CsrfTokens.tokenFor`. */
  readonly csrfToken: string;
  readonly fields?: readonly Field[];
  readonly hidden?: Readonly<Record<string, string | undefined>>;
  /** The buttons: the first is the main one. A button with a name submits `name=value`. */
  readonly buttons: readonly Button[];
}

interface Button {
  readonly label: string;
  readonly name?: string;
  readonly value?: string;
}

/** A form that posts with a CSRF token, preceded by a summary of its faults. */
export function form({ action, csrfToken, fields = [], hidden = {}, buttons }: FormOptions): Html {
  const values = Object.entries({ [CSRF_FIELD]: csrfToken, ...hidden }).filter(([, value]) => value !== undefined);
  return html`${errorSummary(fields)}
    <form method="post" ${action !== undefined && html`action="${action}"`} novalidate>
      ${values.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
      ${fields.map(fieldMarkup)}
      <div class="buttons">${buttons.map(buttonMarkup)}</div>
    </form>`;
}

/** Lists the faults at the top, with links to their fields. Screen readers announce it. */
function errorSummary(fields: readonly Field[]): Html | false {
  const faulty = fields.filter(({ error }) => error !== undefined);
  return (
    faulty.length > 0 &&
    html`<div class="alert" role="alert">
      <p><strong>There is a problem</strong></p>
      <ul>
        ${faulty.map(({ name, error }) => html`<li><a href="#${name}">${error}</a></li>`)}
      </ul>
    </div>`
  );
}

/** One fault that belongs to no field. */
export function alert(message: string): Html {
  return html`<div class="alert" role="alert"><p>${message}</p></div>`;
}

function fieldMarkup(field: Field): Html {
  const { name, label, type = 'text', value, hint, error, minLength, maxLength, autocomplete } = field;
  const described = [hint !== undefined && `${name}-hint`, error !== undefined && `${name}-error`].filter(Boolean);
  return html`<div class="field">
    <label for="${name}">${label}</label>
    ${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
    ${error !== undefined && html`<p class="error" id="${name}-error">${error}</p>`}
    <input
      id="${name}"
      name="${name}"
      type="${type}"
      ${value !== undefined && type !== 'password' && html`value="${value}"`}
      ${autocomplete !== undefined && html`autocomplete="${autocomplete}"`}
      ${minLength !== undefined && html`minlength="${minLength}"`}
      ${maxLength !== undefined && html`maxlength="${maxLength}"`}
      ${described.length > 0 && html`aria-describedby="${described.join(' ')}"`}
      ${error !== undefined && html`aria-invalid="true"`}
      ${field.isReadOnly === true ? html`readonly` : html`required`}
      ${field.hasFocus === true && html`autofocus`}
    />
  </div>`;
}

function buttonMarkup({ label, name, value }: Button, index: number): Html {
  return html`<button
    type="submit"
    class="${index === 0 ? 'primary' : 'secondary'}"
    ${name !== undefined && html`name="${name}" value="${value}"`}
  >
    ${label}
  </button>`;
}

/** The hidden field of every form, for `CsrfTokens`. */
export const CSRF_FIELD = 'csrf_token';
/** In the query of the sign-in: a person who is signed in has to sign in again. */
export const AGAIN_FIELD = 'again';

const FORM_TYPE = 'application/x-www-form-urlencoded';
/** Far above what a form of ours sends. */
const BODY_LIMIT_BYTES = 64 * 1024;
const MAX_FIELDS = 100;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route accepts the body of an HTML form; `fieldOf` reads it. */
    acceptsForms?: boolean;
  }
}

/**
 * Parses the bodies of HTML forms, on routes that accept them. Every other route refuses the media type: a form of a
 * foreign web page can send it without a preflight.
 */
export function registerFormBody(fastify: FastifyInstance): void {
  const options = { parseAs: 'buffer', bodyLimit: BODY_LIMIT_BYTES } as const;
  fastify.addContentTypeParser(FORM_TYPE, options, (request, body: Buffer, done) => {
    if (request.routeOptions.config.acceptsForms === true) parse(body.toString('utf8'), done);
    else done(new DomainError('unsupported_media_type'));
  });
}

function parse(text: string, done: (error: Error | null, body?: URLSearchParams) => void): void {
  const fields = new URLSearchParams(text);
  const values = [...fields].flat();
  const isUsable = fields.size <= MAX_FIELDS && values.every((value) => !value.includes('\u0000'));
  if (isUsable) done(null, fields);
  else done(new DomainError('invalid_request', 'The form is malformed.'));
}

/** The text of a field of a posted form; empty if it is absent or if the body is not a form. */
export function fieldOf({ body }: FastifyRequest, name: string): string {
  return body instanceof URLSearchParams ? (body.get(name) ?? '') : '';
}

/** The text of a query parameter; empty if it is absent or repeated. */
export function queryOf({ query }: FastifyRequest, name: string): string {
  const value = (query as Readonly<Record<string, unknown>>)[name];
  return typeof value === 'string' && !value.includes('\u0000') ? value : '';
}
