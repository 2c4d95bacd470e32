import { applyDecorators, Injectable, SetMetadata } from '@nestjs/common';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { PROVIDER_KINDS } from './provider-kind.js';

/** What is needed to call one model of one provider. */
export interface LanguageModelSettings {
  /** The root below which the API lies; undefined for the kind's own address. */
  readonly baseUrl?: string;
  /** The stored key in the clear. Never log it. */
  readonly apiKey?: string;
  /** The model's name as the provider knows it. */
  readonly model: string;
  /** Follows the address policy and has limits of time and size. The one of Node has neither. */
  readonly fetch: typeof globalThis.fetch;
}

/** A kind of AI provider: how its models are reached. */
export interface LanguageModels {
  /** Where the kind is reached when a provider stores no base URL; undefined if there is no such place. */
  readonly ownBaseUrl?: string | undefined;
  /** Does a provider of this kind have to store a base URL? */
  readonly needsBaseUrl?: boolean;
  /** Makes a model that can be called. It is not called yet. */
  openModel(settings: LanguageModelSettings): LanguageModelV4;
}

export const MODEL_KIND = 'signalbox:model-kind';

/**
 * Makes a class that implements `LanguageModels` a kind of AI provider, under a name that callers send as `kind`. Names are
 * unique in an application, or its start fails.
 * @param name up to 32 lower-case letters, digits and hyphens
 */
export function ModelKind(name: string): ClassDecorator {
  // Schemas and rules of inputs are made once in a process, from the list of names.
  if (!PROVIDER_KINDS.includes(name)) PROVIDER_KINDS.push(name);
  return applyDecorators(Injectable(), SetMetadata(MODEL_KIND, name));
}
