import { applyDecorators } from '@nestjs/common';
import { Matches, MaxLength } from 'class-validator';
import { isRecord } from '../core/is-record.js';
import { rule } from '../core/validation/rule.js';

const MAX_URL_LENGTH = 2048;
/** Maximum length of a stored header value; `headerFaults` bounds all headers together. */
const MAX_HEADER_VALUE_LENGTH = 8192;

/** One line of text that is not blank. */
export function IsTitle(): PropertyDecorator {
  return Matches(/^(?=.*\S)[^\x00-\x1f\x7f-\x9f]{1,128}$/u, {
    message: 'must be one line of 1 to 128 characters and must not be blank',
  });
}

/** Text that PostgreSQL can store: without NUL. */
export function IsText(maxLength: number): PropertyDecorator {
  return applyDecorators(MaxLength(maxLength), Matches(/^[^\x00]*$/, { message: 'must not contain NUL characters' }));
}

/** A bearer token as RFC 6750 §2.1 sends it, without the scheme. The message must not quote the input. */
export function IsBearerToken(): PropertyDecorator {
  return Matches(/^[\x21-\x7e]{1,8192}$/, {
    message: 'must be 1 to 8192 visible ASCII characters, without spaces and without the prefix Bearer',
  });
}

/** A client id or secret (RFC 6749 §A.1 and §A.2). The message must not quote the input. */
export function IsClientSecret(): PropertyDecorator {
  return Matches(/^[\x20-\x7e]{1,2048}$/, { message: 'must be 1 to 2048 visible ASCII characters' });
}

/** The text of a private key, whose kind is checked with the rest of the connection. The message must not quote it. */
export function IsPrivateKey(): PropertyDecorator {
  return Matches(/^[\t\r\n\x20-\x7e]{1,16384}$/, { message: 'must be 1 to 16384 ASCII characters' });
}

/** Scopes separated by single spaces (RFC 6749 §3.3). */
export function IsScope(): PropertyDecorator {
  return Matches(/^(?=.{1,2000}$)[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/, {
    message: 'must be scopes of visible ASCII characters, separated by single spaces, of at most 2000 characters',
  });
}

/**
 * An absolute `http` or `https` URL without whitespace: URL parsers drop line breaks, and the stored URL must be the
 * one that is dialed. The address policy decides whether its address is allowed.
 */
export function IsHttpUrl(): PropertyDecorator {
  return rule(
    'isHttpUrl',
    { type: 'string', format: 'uri', maxLength: MAX_URL_LENGTH },
    isHttpUrl,
    `must be an http or https URL of at most ${MAX_URL_LENGTH} characters`,
  );
}

/** An object of header name → value. `headerFaults` checks the names and values. */
export function IsHeaderMap(): PropertyDecorator {
  return rule(
    'isHeaderMap',
    {
      type: 'object',
      additionalProperties: { type: 'string', maxLength: MAX_HEADER_VALUE_LENGTH },
      description:
        'Header name → value. Values are write-only: reads return "***", and "***" in an update keeps the stored ' +
        'value.',
    },
    isHeaderMap,
    `must be an object whose values are strings of at most ${MAX_HEADER_VALUE_LENGTH} characters`,
  );
}

function isHttpUrl(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > MAX_URL_LENGTH || /[\s\p{Cc}]/u.test(value)) return false;
  const protocol = URL.parse(value)?.protocol;
  return protocol === 'http:' || protocol === 'https:';
}

function isHeaderMap(value: unknown): boolean {
  if (!isRecord(value)) return false;
  return Object.values(value).every((text) => typeof text === 'string' && text.length <= MAX_HEADER_VALUE_LENGTH);
}

const MAX_COMMAND_LENGTH = 256;
const MAX_ARGS = 64;
const MAX_ARG_LENGTH = 4096;
const MAX_ARGS_BYTES = 65_536;
/** Maximum length of a value, so that a private key fits; `environmentFaults` bounds all values together. */
const MAX_VARIABLE_LENGTH = 16_384;
const MAX_PATH_LENGTH = 1024;

/** The command of a STDIO connection. `STDIO_COMMANDS` decides which commands are allowed. */
export function IsCommand(): PropertyDecorator {
  return rule(
    'isCommand',
    { type: 'string', minLength: 1, maxLength: MAX_COMMAND_LENGTH },
    (value) => typeof value === 'string' && value.length > 0 && value.length <= MAX_COMMAND_LENGTH,
    `must be a command of at most ${MAX_COMMAND_LENGTH} characters`,
  );
}

/** Passed to the program one by one, without a shell. */
export function IsArgumentList(): PropertyDecorator {
  return rule(
    'isArgumentList',
    { type: 'array', maxItems: MAX_ARGS, items: { type: 'string', maxLength: MAX_ARG_LENGTH } },
    (value) =>
      Array.isArray(value) &&
      value.length <= MAX_ARGS &&
      value.every((arg) => isTextWithin(arg, MAX_ARG_LENGTH)) &&
      Buffer.byteLength(value.join('')) <= MAX_ARGS_BYTES,
    `must be a list of at most ${MAX_ARGS} strings of at most ${MAX_ARG_LENGTH} characters, ${MAX_ARGS_BYTES} ` +
      'bytes in total',
  );
}

/** An object of variable name → value. `environmentFaults` checks the names. */
export function IsEnvironment(): PropertyDecorator {
  return rule(
    'isEnvironment',
    {
      type: 'object',
      additionalProperties: { type: 'string', maxLength: MAX_VARIABLE_LENGTH },
      description:
        'Variable name → value. Values are write-only: reads return "***", and "***" in an update keeps the stored ' +
        'value.',
    },
    (value) => isRecord(value) && Object.values(value).every((text) => isTextWithin(text, MAX_VARIABLE_LENGTH)),
    `must be an object whose values are strings of at most ${MAX_VARIABLE_LENGTH} characters`,
  );
}

export function IsAbsolutePath(): PropertyDecorator {
  return rule(
    'isAbsolutePath',
    { type: 'string', pattern: '^/', maxLength: MAX_PATH_LENGTH },
    (value) => isTextWithin(value, MAX_PATH_LENGTH) && value.startsWith('/'),
    `must be an absolute path of at most ${MAX_PATH_LENGTH} characters`,
  );
}

function isTextWithin(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value.length <= maxLength;
}
