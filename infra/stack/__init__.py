"""The stage in the cloud: its resources, template and alarms, and the zip that `make package` makes."""
