import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { decoratedProviders } from '../../core/decorated-providers.js';
import { type LanguageModels, MODEL_KIND } from './model-kind.js';
import type { ProviderKind } from './provider-kind.js';

/** `ai_providers.kind` */
const NAME = /^[a-z][a-z0-9-]{0,31}$/;

/** Every `@ModelKind` of the application, discovered at startup. A duplicate name stops the start. */
@Injectable()
export class ModelKinds implements OnModuleInit {
  private readonly kinds = new Map<ProviderKind, LanguageModels>();

  constructor(private readonly discovery: DiscoveryService) {}

  onModuleInit(): void {
    for (const { metadata: name, instance } of decoratedProviders<ProviderKind>(this.discovery, MODEL_KIND)) {
      if (!NAME.test(name))
        throw new Error(`The model kind of ${instance.constructor.name} has the invalid name "${name}".`);
      if (this.kinds.has(name))
        throw new Error(`Two model kinds are named ${name}; one of them is ${instance.constructor.name}.`);
      this.kinds.set(name, instance as LanguageModels);
    }
  }

  /** Undefined for a kind that no module of the application provides, such as that of a removed extension. */
  findByName(kind: ProviderKind): LanguageModels | undefined {
    return this.kinds.get(kind);
  }

  /** All names. */
  names(): ProviderKind[] {
    return [...this.kinds.keys()];
  }
}
