"""What reports and experiments share: runs by method, numbers and findings in words, the look of figures and pages."""
