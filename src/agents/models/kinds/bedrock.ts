import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { APICallError, wrapLanguageModel } from 'ai';
import { type LanguageModels, type LanguageModelSettings, ModelKind } from '../model-kind.js';
import type { FieldRules, FieldSettings } from '../provider-fields.js';
import { withToolMedia } from '../tool-media.js';

/** `eu-central-1`, `us-gov-west-1`. It becomes a part of the host name. */
const REGION = /^[a-z]{2,4}(?:-[a-z]{2,16}){1,3}-\d{1,2}$/;

/**
 * The domains of the partitions other than `aws`, by the beginnings of their regions.
 * Source: https://docs.aws.amazon.com/general/latest/gr/rande.html
 */
const PARTITIONS = [
  ['cn-', 'amazonaws.com.cn'],
  ['us-iso-', 'c2s.ic.gov'],
  ['us-isob-', 'sc2s.sgov.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk'],
  ['us-isof-', 'csp.hci.ic.gov'],
  ['eusc-', 'amazonaws.eu'],
] as const;

/** Amazon Bedrock by its Converse API. Requests are signed (SigV4) with the stored access key only. */
@ModelKind('bedrock')
export class BedrockModels implements LanguageModels {
  readonly fields: FieldRules = {
    region: { isRequired: true, form: REGION, formRule: 'must be a region of AWS, such as eu-central-1' },
    access_key_id: { isRequired: true },
    secret_access_key: { isRequired: true },
    session_token: {},
  };

  /** Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html */
  readonly files =
    /^(?:image\/(?:png|jpeg|gif|webp)|application\/(?:pdf|msword|vnd\.ms-excel|vnd\.openxmlformats-officedocument\.(?:wordprocessingml\.document|spreadsheetml\.sheet)))$/;
  readonly schemaOptions = {};
  readonly framing = 'frames';

  ownBaseUrl({ region = '' }: FieldSettings): string {
    const domain = PARTITIONS.find(([beginning]) => region.startsWith(beginning))?.[1] ?? 'amazonaws.com';
    return `https://bedrock-runtime.${region}.${domain}`;
  }

  async openModel({
    region = '',
    baseUrl = this.ownBaseUrl({ region }),
    accessKeyId = '',
    secretAccessKey = '',
    sessionToken,
    model,
    fetch,
  }: LanguageModelSettings): Promise<LanguageModelV4> {
    const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock');
    const provider = createAmazonBedrock({
      region,
      baseURL: baseUrl,
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      // An absent one would be `AWS_BEARER_TOKEN_BEDROCK`, which takes precedence over the access key.
      apiKey: '',
      fetch,
    });
    return withToolMedia(withBrokenStreams(provider(model)), this.files);
  }
}

/**
 * A model whose stream fails with an `APICallError` also when its frames are invalid, and that reports a stream without
 * an end, as other models do. The SDK's decoder throws errors that nothing distinguishes from those of this service,
 * and the SDK completes a broken answer.
 */
function withBrokenStreams(model: LanguageModelV4): LanguageModelV4 {
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v4',
      wrapStream: async ({ doStream }) => {
        const result = await doStream();
        return { ...result, stream: ReadableStream.from(readingParts(result.stream)) };
      },
    },
  });
}

async function* readingParts(
  stream: ReadableStream<LanguageModelV4StreamPart>,
): AsyncGenerator<LanguageModelV4StreamPart> {
  try {
    for await (const part of stream) {
      const hasNoReason = part.type === 'finish' && part.finishReason.unified === 'other' && !part.finishReason.raw;
      yield hasNoReason ? { ...part, finishReason: { unified: 'interrupted', raw: undefined } } : part;
    }
  } catch (cause) {
    // An abort or a timeout.
    if (cause instanceof DOMException) throw cause;
    const message = 'The event stream is invalid.';
    throw new APICallError({ message, url: '', requestBodyValues: {}, statusCode: 200, cause });
  }
}
