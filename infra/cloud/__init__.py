"""The stage in the cloud: the template, the alarms and the zip that `make package` makes."""
