-- Whether another tenant has an audience, without a look at all of them: asked for each tenant that is applied, and each resource.
CREATE INDEX api_resource_audience ON directory.api_resource (audience);
