import { Module } from '@nestjs/common';
import { AppConfig } from '../../core/config/app-config.js';
import { AddressPolicy, parseAllowList } from './address-policy.js';
import { BoundedFetch } from './bounded-fetch.js';

/** Provides the configured address policy, which applies to every outgoing connection, and a `fetch` under it. */
@Module({
  providers: [
    BoundedFetch,
    {
      provide: AddressPolicy,
      inject: [AppConfig],
      useFactory: ({ settings }: AppConfig) =>
        new AddressPolicy({
          allowPrivate: settings.upstreamAllowPrivate,
          allow: parseAllowList(settings.upstreamAllow),
        }),
    },
  ],
  exports: [AddressPolicy, BoundedFetch],
})
export class NetModule {}
