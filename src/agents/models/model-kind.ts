import { applyDecorators, Injectable, SetMetadata, type OnModuleInit } from '@nestjs/common';
import type { LanguageModelV4, SharedV4ProviderOptions } from '@ai-sdk/provider';
import { DiscoveryService } from '@nestjs/core';
import type { StreamFraming } from './provider-fetch.js';
import type { FieldRules, FieldSettings } from './provider-fields.js';
import { byName, type Contribution, contributedProviders } from '../../core/contributions.js';

/** A provider's protocol: the name of a class with `@ModelKind`. */
export type ProviderKind = string;

/** The names of all kinds that this process has loaded. `ModelKinds` has those that the application offers. */
export const PROVIDER_KINDS: ProviderKind[] = [];

/**
 * The access data of one provider: also the values of the fields that the kind declares, secrets decrypted. Never log
 * them.
 */
export interface ProviderSettings extends FieldSettings {
  /** The root URL of the API; undefined for the default address of the kind. */
  readonly baseUrl?: string;
  /**
   * Enforces the address policy and limits of time, size and values. Node's `fetch` does none of them. An answer that
   * is not framed as the kind says counts as one document.
   */
  readonly fetch: typeof globalThis.fetch;
}

/** The access data for one model of one provider. */
export interface LanguageModelSettings extends ProviderSettings {
  /** The provider's name for the model. */
  readonly model: string;
}

/** A kind of AI provider: how its models are reached. */
export interface LanguageModels {
  /**
   * The address of the kind when a provider stores no base URL, or how it follows from the provider's fields; undefined
   * if there is no default address. A provider can only move to another address together with its secrets.
   */
  readonly ownBaseUrl?: string | ((settings: FieldSettings) => string) | undefined;
  /** True if providers of this kind require a base URL. */
  readonly needsBaseUrl?: boolean;
  /** The fields that its providers take; absent: an optional `api_key`. */
  readonly fields?: FieldRules;
  /** The media types of files that its models take in messages; absent: none. Texts are sent as text. */
  readonly files?: RegExp;
  /**
   * What its SDK needs, besides the schema, to ask a model for JSON that matches any schema; absent: its models are
   * asked by an instruction.
   */
  readonly schemaOptions?: SharedV4ProviderOptions;
  /** What its models answer with; absent: server-sent events. */
  readonly framing?: StreamFraming;
  /**
   * Creates a callable model without calling it. A promise lets the kind load its SDK for the first model. Give an SDK
   * each of its settings, also one that is not set: otherwise it reads variables such as `OPENAI_API_KEY` and
   * `AWS_ENDPOINT_URL`, and sends the operator's key to an address that an organization has chosen.
   */
  openModel(settings: LanguageModelSettings): LanguageModelV4 | Promise<LanguageModelV4>;
  /**
   * Asks the provider for the names of its models that `openModel` takes; absent: its API lists none. Its `fetch` ends
   * after 10 seconds or 2 MiB. Rejects with what an SDK throws.
   */
  listModels?(settings: ProviderSettings): Promise<readonly string[]>;
}

const MODEL_KIND = 'signalbox:model-kind';

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

/** `ai_providers.kind` */
const NAME = /^[a-z][a-z0-9-]{0,31}$/;

/** Every `@ModelKind` of the application, discovered at startup. A duplicate name stops the start. */
@Injectable()
export class ModelKinds implements OnModuleInit {
  private kinds = new Map<ProviderKind, Contribution<ProviderKind, LanguageModels>>();

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    const kinds = contributedProviders<ProviderKind, LanguageModels>(this.discovery, MODEL_KIND);
    this.kinds = byName(kinds, { sort: 'model kind', form: NAME });
  }

  /** Undefined for a kind that no module of the application provides, such as that of a removed extension. */
  findByName(kind: ProviderKind): LanguageModels | undefined {
    return this.kinds.get(kind)?.value;
  }

  /** All names. */
  names(): ProviderKind[] {
    return [...this.kinds.keys()];
  }
}
