import { APICallError, InvalidResponseDataError, JSONParseError } from 'ai';
import type { ProviderSettings } from '../model-kind.js';

type Json = Readonly<Record<string, unknown>>;

/**
 * Asks a provider for its models: `GET <url>`, whose answer is an object with a list of objects.
 * @param list the property with the list
 * @returns the objects
 * @throws APICallError, JSONParseError or InvalidResponseDataError, as its SDK would, or what `fetch` throws
 */
export async function readModels(
  url: string,
  list: string,
  headers: Readonly<Record<string, string>>,
  fetch: ProviderSettings['fetch'],
): Promise<readonly Json[]> {
  const answer = await fetch(url, { headers });
  const text = await answer.text();
  if (!answer.ok) {
    const { status: statusCode, statusText: message } = answer;
    const responseHeaders = Object.fromEntries(answer.headers);
    throw new APICallError({ message, url, requestBodyValues: {}, statusCode, responseHeaders, responseBody: text });
  }
  const models = memberOf(parsed(text), list);
  if (!Array.isArray(models)) {
    throw new InvalidResponseDataError({ data: null, message: `The response contains no list ${list}.` });
  }
  return models.filter((model) => typeof model === 'object' && model !== null);
}

/**
 * The ids of the models at an API like OpenAI's: `GET <base URL>/models` answers `{data: [{id}]}`.
 * Source: https://platform.openai.com/docs/api-reference/models/list
 */
export async function readModelIds(
  baseUrl: string,
  { apiKey = '', fetch }: Pick<ProviderSettings, 'apiKey' | 'fetch'>,
): Promise<readonly unknown[]> {
  const headers: Record<string, string> = apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` };
  return (await readModels(`${baseUrl}/models`, 'data', headers, fetch)).map(({ id }) => id);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new JSONParseError({ text, cause });
  }
}

function memberOf(document: unknown, name: string): unknown {
  return typeof document === 'object' && document !== null ? (document as Json)[name] : undefined;
}
