import {
  APICallError,
  EmptyResponseBodyError,
  InvalidPromptError,
  InvalidResponseDataError,
  InvalidToolInputError,
  JSONParseError,
  LoadAPIKeyError,
  MessageConversionError,
  NoContentGeneratedError,
  NoOutputGeneratedError,
  NoSuchModelError,
  NoSuchToolError,
  RetryError,
  StreamProviderError,
  ToolChoiceViolationError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from 'ai';
import { DomainError } from '../../core/domain-error.js';
import { plainText } from '../../core/plain-text.js';
import { redactText } from '../../core/redact-text.js';
import { AddressRefusedError } from '../../platform/net/address-policy.js';
import { BuiltinFailure } from './builtin/builtin-failure.js';
import { complaintOf, type ProviderComplaint } from './provider-complaint.js';
import type { ProviderFailureCode } from './provider-failure-codes.js';
import { AnswerTooLargeError } from './provider-fetch.js';

/** Why a model call failed, in a form that a run, its stream and the transcript can show. */
interface ProviderFailure {
  code: ProviderFailureCode;
  /**
   * A sentence of this service, after which it can quote the message of a provider that refused the call. Contains no
   * URL, header or key.
   */
  message: string;
  /** Whether a later retry of the same call can succeed. */
  retryable: boolean;
}

type Describe = (error: unknown) => ProviderFailure | undefined;

const INTERNAL = failure('internal', 'An unexpected error occurred while the model was called.');
const UNREACHABLE = failure('provider_unavailable', 'The model provider cannot be reached.', true);

/** No connection was made. */
const UNMADE = {
  failure: UNREACHABLE,
  marks: ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'],
};
const describeUnmade = describeByMarks(UNMADE);

/** Transport failures, and the names, codes or messages by which Node and undici report them. */
const NETWORK: readonly { failure: ProviderFailure; marks: readonly string[] }[] = [
  {
    failure: failure('provider_timeout', 'The model provider did not respond in time.', true),
    marks: ['TimeoutError', 'ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'],
  },
  {
    failure: failure('provider_unavailable', 'The TLS certificate of the model provider is not trusted.'),
    marks: [
      'CERT_HAS_EXPIRED',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'ERR_TLS_CERT_ALTNAME_INVALID',
    ],
  },
  UNMADE,
  {
    failure: failure('provider_unavailable', 'The connection to the model provider was lost.', true),
    marks: ['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'UND_ERR_SOCKET', 'socket hang up', 'terminated'],
  },
  {
    failure: failure('provider_timeout', 'The call to the model provider was stopped before it ended.'),
    marks: ['AbortError'],
  },
  // undici's name for every connect failure; its cause holds the reason, if there is one.
  { failure: UNREACHABLE, marks: ['fetch failed'] },
];

/** In order: the first entry that matches the error, or one of its causes, describes it. */
const DESCRIPTIONS: readonly Describe[] = [
  describeOurs,
  describeComplaint,
  ...NETWORK.map(describeByMarks),
  describeSetup,
  describeToolMistake,
  describeUnusable,
];

/**
 * Describes an error that a language model, or `ai` around it, threw, rejected with or sent as an error part. Do not
 * call it for a cancelled run: the caller knows its own abort.
 */
export function describeProviderFailure(error: unknown): ProviderFailure {
  const chain = withCauses(error);
  for (const describe of DESCRIPTIONS) {
    for (const link of chain) {
      const failure = describe(link);
      if (failure) return failure;
    }
  }
  return INTERNAL;
}

/** The sentence that answers a request for a test or for the models of a provider, which can fail here, too. */
export function sentenceOfFailure(error: unknown): string {
  return error instanceof DomainError ? error.message : describeProviderFailure(error).message;
}

/** Failures that say nothing of other models. */
const OF_THE_REQUEST: ReadonlySet<ProviderFailureCode> = new Set(['internal', 'model_failed', 'provider_rejected']);
/** Rejections that do: the account has no money, or the model is in a state that does not allow the call. */
const OF_THE_MODEL: ReadonlySet<number | undefined> = new Set([402, 409]);

/** Whether the same call can succeed at another model. */
export function mayBeOfModel(error: unknown): boolean {
  if (!OF_THE_REQUEST.has(describeProviderFailure(error).code)) return true;
  return withCauses(error).some((link) => APICallError.isInstance(link) && OF_THE_MODEL.has(link.statusCode));
}

/**
 * Whether a call that failed without an answer can have cost something: it was neither refused nor impossible to make.
 */
export function mayHaveCost(error: unknown): boolean {
  return !withCauses(error).some(
    (link) =>
      (APICallError.isInstance(link) && (link.statusCode ?? 0) >= 400) ||
      link instanceof AddressRefusedError ||
      describeUnmade(link) !== undefined,
  );
}

/** The error and its chain of causes. */
function withCauses(error: unknown): unknown[] {
  const chain: unknown[] = [];
  let link = error;
  while (link !== undefined && link !== null && !chain.includes(link)) {
    chain.push(link);
    if (RetryError.isInstance(link)) link = link.lastError;
    else link = typeof link === 'object' && 'cause' in link ? link.cause : undefined;
  }
  return chain;
}

/** Failures of this service, whose messages can be shown. */
function describeOurs(error: unknown): ProviderFailure | undefined {
  if (error instanceof BuiltinFailure) return failure('model_failed', error.message);
  if (error instanceof AddressRefusedError) return failure('provider_unavailable', error.message);
  return undefined;
}

/** What a provider says of its refusal: the HTTP status, and the names that say more than the status. */
function describeComplaint(error: unknown): ProviderFailure | undefined {
  const complaint = complaintOf(error);
  if (complaint === undefined) return undefined;
  const { status, reasons, isRetryable } = complaint;
  const named = REASONS.find(({ names }) => reasons.some((reason) => names.includes(reason)));
  const code = named?.code ?? (status === undefined ? undefined : codeOfStatus(status));
  if (code === undefined) return undefined;
  const shownStatus = status === undefined ? '' : ` (HTTP ${status})`;
  const message = `The model provider ${REFUSALS[code]}${shownStatus}.${messageOf(complaint)}`;
  return failure(code, message, isRetryable || named?.retryable === true);
}

type Refusal = keyof typeof REFUSALS;

const REFUSALS = {
  provider_unauthorized: 'refused the credential',
  provider_not_found: 'does not know the model or the address',
  provider_timeout: 'timed out',
  provider_rate_limited: 'limits the rate of requests',
  provider_rejected: 'rejected the request',
  provider_unavailable: 'is failing',
} as const satisfies { [code in ProviderFailureCode]?: string };

/**
 * The names of errors that come with another status, or without one: from Google (`google.rpc.Code`, `ErrorReason`),
 * AWS, OpenAI with Azure, and Mistral.
 */
const REASONS: readonly { code: Refusal; retryable: boolean; names: readonly string[] }[] = [
  {
    code: 'provider_rate_limited',
    retryable: true,
    names: [
      'RESOURCE_EXHAUSTED',
      'ThrottlingException',
      'throttlingException',
      'TooManyRequestsException',
      'ServiceQuotaExceededException',
      'rate_limit_exceeded',
      'rate_limited',
      'service_tier_capacity_exceeded',
    ],
  },
  {
    code: 'provider_unauthorized',
    retryable: false,
    names: [
      'API_KEY_INVALID',
      'UNAUTHENTICATED',
      'PERMISSION_DENIED',
      'AccessDeniedException',
      'ExpiredTokenException',
      'IncompleteSignatureException',
      'InvalidSignatureException',
      'MissingAuthenticationTokenException',
      'UnrecognizedClientException',
    ],
  },
  {
    code: 'provider_timeout',
    retryable: true,
    names: ['DEADLINE_EXCEEDED', 'ModelTimeoutException'],
  },
  {
    code: 'provider_unavailable',
    retryable: true,
    names: [
      'UNAVAILABLE',
      'INTERNAL',
      'ModelErrorException',
      'modelStreamErrorException',
      'internalServerException',
      'serviceUnavailableException',
      'internal_server_error',
    ],
  },
];

/** Undefined for a status that is no refusal, such as a redirect. */
function codeOfStatus(status: number): Refusal | undefined {
  if (status < 400) return undefined;
  if (status === 401 || status === 403) return 'provider_unauthorized';
  if (status === 404) return 'provider_not_found';
  if (status === 408) return 'provider_timeout';
  if (status === 429) return 'provider_rate_limited';
  return status < 500 ? 'provider_rejected' : 'provider_unavailable';
}

/** Longer messages are cut. */
const QUOTED_LENGTH = 300;

/**
 * The message of the provider's error document, as a sentence of its own. The secrets have been replaced in it already
 * (`hidingKey`); here, other credentials are, as far as their context shows them.
 */
function messageOf({ message = '' }: ProviderComplaint): string {
  const text = redactText(plainText(message.slice(0, 8 * QUOTED_LENGTH)))
    .replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .trim();
  if (text === '') return '';
  const shown = text.length > QUOTED_LENGTH ? `${text.slice(0, QUOTED_LENGTH).toWellFormed()}…` : text;
  return ` It says: ${shown}${/[.!?…]$/.test(shown) ? '' : '.'}`;
}

function describeSetup(error: unknown): ProviderFailure | undefined {
  if (InvalidPromptError.isInstance(error) || MessageConversionError.isInstance(error)) return INTERNAL;
  if (LoadAPIKeyError.isInstance(error)) return failure('provider_unauthorized', 'The model provider has no API key.');
  if (NoSuchModelError.isInstance(error)) return failure('provider_not_found', 'The model provider has no such model.');
  if (UnsupportedFunctionalityError.isInstance(error)) {
    return failure('provider_rejected', 'The model provider does not support a feature that the run needs.');
  }
  return undefined;
}

function describeToolMistake(error: unknown): ProviderFailure | undefined {
  if (NoSuchToolError.isInstance(error)) {
    return failure('provider_bad_response', 'The model called a tool that it does not have.');
  }
  if (InvalidToolInputError.isInstance(error)) {
    return failure('provider_bad_response', 'The model called a tool with invalid arguments.');
  }
  return undefined;
}

function describeUnusable(error: unknown): ProviderFailure | undefined {
  if (APICallError.isInstance(error) && error.statusCode === undefined) return UNREACHABLE;
  const isSdkComplaint = [
    APICallError,
    StreamProviderError,
    JSONParseError,
    TypeValidationError,
    InvalidResponseDataError,
    EmptyResponseBodyError,
    NoContentGeneratedError,
    NoOutputGeneratedError,
    ToolChoiceViolationError,
  ].some((known) => known.isInstance(error));
  if (isSdkComplaint || error instanceof AnswerTooLargeError || isErrorFrame(error)) {
    return failure('provider_bad_response', 'The model provider sent an invalid response.');
  }
  return undefined;
}

/** An error that a provider wrote into its stream and that the SDK passes on unchanged: anything but an Error. */
function isErrorFrame(error: unknown): boolean {
  return typeof error === 'string' || (typeof error === 'object' && error !== null && !('stack' in error));
}

function describeByMarks({ failure, marks }: (typeof NETWORK)[number]): Describe {
  return (error) => {
    if (typeof error !== 'object' || error === null) return undefined;
    const { name, code, message }: { name?: unknown; code?: unknown; message?: unknown } = error;
    return [name, code, message].some((value) => typeof value === 'string' && marks.includes(value))
      ? failure
      : undefined;
  };
}

function failure(code: ProviderFailureCode, message: string, retryable = false): ProviderFailure {
  return { code, message, retryable };
}
