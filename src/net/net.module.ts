import { Module } from '@nestjs/common';
import { AppConfig } from '../config/app-config.js';
import { AddressPolicy } from './address-policy.js';
import { parseAllowList } from './allow-list.js';

/** Which addresses the service may reach, as it is configured; the same for every door that leads out. */
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
