import { APICallError, InvalidResponseDataError, JSONParseError } from 'ai';
import { isObject } from '../../core/is-record.js';
import { ParseCost } from '../../core/json/parse-cost.js';
import type { ProviderSettings } from './model-kind.js';
import { AnswerTooLargeError } from './provider-fetch.js';

type Json = Readonly<Record<string, unknown>>;

/** Where an API lists its models. */
interface ModelList {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The property of the answer that is the list. */
  readonly list: string;
  /** What `openModel` takes as the name of an entry; anything but a text leaves the entry out. */
  readonly nameOf: (entry: Json) => unknown;
}

/**
 * Asks a provider for the names of its models: `GET <url>`, whose answer is an object with a list of objects.
 * @throws APICallError, JSONParseError or InvalidResponseDataError, as its SDK would; AnswerTooLargeError for a list
 * that is too expensive to parse on the event loop; or what `fetch` throws
 */
export async function readModels(
  { url, headers, list, nameOf }: ModelList,
  fetch: ProviderSettings['fetch'],
): Promise<readonly string[]> {
  const answer = await fetch(url, { headers });
  const text = await textOf(answer);
  if (!answer.ok) {
    const { status: statusCode, statusText: message } = answer;
    const responseHeaders = Object.fromEntries(answer.headers);
    throw new APICallError({ message, url, requestBodyValues: {}, statusCode, responseHeaders, responseBody: text });
  }
  const document = parsed(text);
  const entries = isObject(document) ? document[list] : undefined;
  if (!Array.isArray(entries)) {
    throw new InvalidResponseDataError({ data: null, message: `The response contains no list ${list}.` });
  }
  return entries.flatMap((entry) => {
    const name = isObject(entry) ? nameOf(entry) : undefined;
    return typeof name === 'string' ? [name] : [];
  });
}

/**
 * The ids of the models at an API like OpenAI's: `GET <base URL>/models` answers `{data: [{id}]}`.
 * Source: https://platform.openai.com/docs/api-reference/models/list
 * @throws as `readModels`
 */
export function readModelIds(
  baseUrl: string,
  { apiKey = '', fetch }: Pick<ProviderSettings, 'apiKey' | 'fetch'>,
): Promise<readonly string[]> {
  const headers: Record<string, string> = apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` };
  return readModels({ url: `${baseUrl}/models`, headers, list: 'data', nameOf: ({ id }) => id }, fetch);
}

async function textOf(answer: Response): Promise<string> {
  const cost = new ParseCost();
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of answer.body ?? []) {
    cost.add(chunk);
    if (cost.isTooHigh) throw new AnswerTooLargeError('The response has too many values.');
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new JSONParseError({ text, cause });
  }
}
