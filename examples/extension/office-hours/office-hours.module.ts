import { Module } from '@nestjs/common';
import { OfficeHours } from './office-hours.js';

@Module({ providers: [OfficeHours] })
export class OfficeHoursModule {}
