import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DeletedNameEntity } from './deleted-name.entity.js';
import { Names } from './names.js';

@Module({ imports: [TypeOrmModule.forFeature([DeletedNameEntity])], providers: [Names], exports: [Names] })
export class NamesModule {}
