import { Module } from '@nestjs/common';
import { MailLimits } from './mail-limits.js';
import { Mailer } from './mailer.js';

@Module({ providers: [Mailer, MailLimits], exports: [Mailer, MailLimits] })
export class MailModule {}
