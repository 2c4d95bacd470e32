import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { byName, type Contribution, contributedProviders } from '../../core/contributions.js';
import { type LanguageModels, MODEL_KIND, type ProviderKind } from './model-kind.js';

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
