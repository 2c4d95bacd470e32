import { applyDecorators, Injectable, SetMetadata } from '@nestjs/common';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { PROVIDER_KINDS } from './provider-kind.js';

/** The access data for one model of one provider. */
export interface LanguageModelSettings {
  /** The root URL of the API; undefined for the default address of the kind. */
  readonly baseUrl?: string;
  /** The decrypted stored key. Never log it. */
  readonly apiKey?: string;
  /** The provider's name for the model. */
  readonly model: string;
  /** Enforces the address policy and limits of time and size. Node's `fetch` does neither. */
  readonly fetch: typeof globalThis.fetch;
}

/** A kind of AI provider: how its models are reached. */
export interface LanguageModels {
  /** The address of the kind when a provider stores no base URL; undefined if there is no default address. */
  readonly ownBaseUrl?: string | undefined;
  /** True if providers of this kind require a base URL. */
  readonly needsBaseUrl?: boolean;
  /** The media types of files that its models take in messages; absent: none. Texts are sent as text. */
  readonly files?: RegExp;
  /** Creates a callable model without calling it. */
  openModel(settings: LanguageModelSettings): LanguageModelV4;
}

export const MODEL_KIND = 'signalbox:model-kind';

/**
 * Registers a class that implements `LanguageModels` as a kind of AI provider. Callers send its name as `kind`. Names
 * are unique in an application; a duplicate stops the start.
 * @param name up to 32 lower-case letters, digits and hyphens
 */
export function ModelKind(name: string): ClassDecorator {
  // Schemas and validation rules are created once per process from the list of names.
  if (!PROVIDER_KINDS.includes(name)) PROVIDER_KINDS.push(name);
  return applyDecorators(Injectable(), SetMetadata(MODEL_KIND, name));
}
