import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository, type SelectQueryBuilder } from 'typeorm';
import { RatingEntity } from './rating.entity.js';

@Injectable()
export class RatingRepository {
  constructor(@InjectRepository(RatingEntity) private readonly ratings: Repository<RatingEntity>) {}

  async insert(rating: Omit<RatingEntity, 'escalatedAt' | 'createdAt'>): Promise<RatingEntity> {
    await this.ratings.insert(rating);
    return this.ratings.findOneByOrFail({ id: rating.id });
  }

  queryOfOrganization(organizationId: string): SelectQueryBuilder<RatingEntity> {
    return this.ratings.createQueryBuilder('rating').where({ organizationId });
  }

  async averageOfOrganization(organizationId: string): Promise<{ count: number; average: number | null }> {
    const count = await this.ratings.countBy({ organizationId });
    return { count, average: await this.ratings.average('stars', { organizationId }) };
  }

  /** Notes the time of the first report. */
  async markEscalated(id: string): Promise<void> {
    await this.ratings.update({ id, escalatedAt: IsNull() }, { escalatedAt: new Date() });
  }
}
