import type { LanguageModelV4 } from '@ai-sdk/provider';
import { DomainError } from '../../../core/domain-error.js';
import { withMediaAfterTools, withToolMedia, IMAGES_AND_PDF } from '../tool-media.js';
import { type LanguageModels, type LanguageModelSettings, ModelKind } from '../model-kind.js';
import type { FieldRules } from '../provider-fields.js';

/** The versions of Azure's own API, which are dates; `v1` has none. */
const DATED_VERSION = /^\d{4}-\d{2}-\d{2}(?:-preview)?$/;

/**
 * Azure OpenAI. The base URL is the address of the resource, such as `https://name.openai.azure.com`, and the model is
 * the name of a deployment. Without `api_version`, it is called by the responses API of `/openai/v1`; with a version,
 * by the chat completions of `/openai/deployments/<model>`, which every version has.
 * Source: https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
 */
@ModelKind('azure')
export class AzureModels implements LanguageModels {
  readonly needsBaseUrl = true;
  readonly files = IMAGES_AND_PDF;
  readonly fields: FieldRules = {
    api_key: { isRequired: true },
    api_version: { form: DATED_VERSION, formRule: 'must be the date of a version, such as 2024-10-21' },
  };
  /** Strict mode takes only schemas without optional properties. */
  readonly schemaOptions = { openai: { strictJsonSchema: false } };

  /** @throws DomainError `invalid_request` when there is no base URL */
  async openModel({ baseUrl, apiKey = '', apiVersion, model, fetch }: LanguageModelSettings): Promise<LanguageModelV4> {
    if (baseUrl === undefined)
      throw new DomainError('invalid_request', 'A provider of kind azure requires a base_url.');
    const { createAzure } = await import('@ai-sdk/azure');
    // Azure shows the address of a resource in all three forms.
    const root = `${baseUrl.replace(/\/openai(?:\/v1)?$/, '')}/openai`;
    if (apiVersion === undefined) {
      return withToolMedia(createAzure({ baseURL: `${root}/v1`, apiKey, fetch })(model), this.files);
    }
    const azure = createAzure({ baseURL: root, apiKey, apiVersion, useDeploymentBasedUrls: true, fetch });
    return withToolMedia(withMediaAfterTools(azure.chat(model)), this.files);
  }
}
