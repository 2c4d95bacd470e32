import { Module } from '@nestjs/common';
import { AppConfig } from '../config/app-config.js';
import { AddressPolicy } from './address-policy.js';
import { parseAllowList } from './allow-list.js';

/** Provides the configured address policy, which applies to every outgoing connection. */
@Module({
  providers: [
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
  exports: [AddressPolicy],
})
export class NetModule {}
